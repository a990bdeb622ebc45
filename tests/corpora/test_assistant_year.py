"""The bundled corpus: what it promises, and that its files are what the generator makes."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter, defaultdict
from datetime import UTC, datetime

import pytest
import Stemmer

from nousmem.corpora import load_corpus
from nousmem.corpora.assistant_year import bundled_folder, generate, load_bundled, read, write
from nousmem.corpora.assistant_year._files import FILES
from nousmem.corpora.assistant_year._timeline import ACCESS_FROZEN, ASK_FROM
from nousmem.corpora.assistant_year.phrases import load_phrases
from nousmem.entry import MemoryType
from nousmem.errors import CorpusError, CorpusFileMissing

CATEGORIES = {
    "cross-agent": 25,
    "fact": 65,
    "nothing-relevant": 30,
    "preference": 35,
    "procedure": 35,
    "temporal": 45,
    "update": 70,
}
ENTRY = {
    "id": "x",
    "content": "y",
    "type": "semantic",
    "importance": 0.5,
    "created_at": "2025-01-02T00:00:00Z",
}
QUERY = {"query_id": "x", "text": "y", "category": "c", "now": "2025-11-01T00:00:00Z"}
STOPWORDS = frozenset(
    re.findall(
        r"\w+",
        """
a about after again all am an and any are as at be been before by can could did do does
done down for from get got had has have he her here him his how i if in into is it its just
may me mine must my need no nor not now of off on once one only or our out over own she
should so some such than that the their them then there these they this those to too under
until up us very was we were what when where which while who whom whose why will with would
you your
""",
    )
)


@pytest.fixture(scope="module")
def corpus():
    return generate(7)


@pytest.fixture(scope="module", params=[7, 2])
def any_corpus(request):
    return generate(request.param)


@pytest.fixture(scope="module")
def written(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("written")
    write(corpus, folder)
    return folder


@pytest.fixture
def folder(written, tmp_path):
    for name in FILES:
        shutil.copy(written / name, tmp_path)
    return tmp_path


def judged(corpus):
    grades = defaultdict(dict)
    for query_id, doc_id, grade in corpus.qrels.itertuples(index=False):
        grades[query_id][doc_id] = grade
    return grades


def visible(entry, query):
    scope = query.scope
    return (
        entry.created_at <= query.as_of
        and entry.user_id == scope.user_id
        and scope.agent_id in (None, entry.agent_id)
    )


def content_words(text):
    stem = Stemmer.Stemmer("porter").stemWord
    return {stem(word) for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in STOPWORDS}


def test_the_bundled_files_are_what_the_generator_makes(folder):
    bundled = bundled_folder()
    for name in FILES:
        assert (folder / name).read_bytes() == (bundled / name).read_bytes(), name


def test_reading_the_bundled_files_equals_generating(corpus):
    bundled = load_bundled()
    assert bundled.fingerprint() == corpus.fingerprint()
    assert bundled.entries == corpus.entries
    assert bundled.queries == corpus.queries
    assert bundled.qrels.equals(corpus.qrels)
    assert re.fullmatch("[0-9a-f]{64}", bundled.card.checksum)
    assert corpus.card.checksum == ""
    assert bundled.card.synthetic


def test_the_seed_alone_decides(corpus):
    assert generate(7).fingerprint() == corpus.fingerprint()
    assert generate(8).fingerprint() != corpus.fingerprint()


def test_it_is_bundled_under_its_name(corpus):
    assert load_corpus("assistant-year").fingerprint() == corpus.fingerprint()


def test_the_files_are_tables_that_anyone_can_load(corpus):
    tables = load_corpus("tables", path=bundled_folder())
    scopes = {query.query_id: query.scope for query in corpus.queries}
    assert tables.entries == corpus.entries
    assert all(query.scope == scopes[query.query_id] for query in tables.queries)


def test_the_files_are_small():
    assert sum((bundled_folder() / name).stat().st_size for name in FILES) < 1_200_000


def test_counts(any_corpus):
    assert any_corpus.name == "assistant-year"
    assert any_corpus.partition_field is None
    assert any_corpus.fold_field == "user_id"
    assert set(Counter(entry.user_id for entry in any_corpus.entries).values()) == {400}
    assert Counter(query.category for query in any_corpus.queries) == CATEGORIES
    assert set(Counter(query.scope.user_id for query in any_corpus.queries).values()) == {61}
    assert set(any_corpus.qrels["relevance"]) == {0, 1, 2}


def test_ids_are_readable_and_follow_time(any_corpus):
    by_user = defaultdict(list)
    for entry in any_corpus.entries:
        by_user[entry.user_id].append(entry)
    for user_id, entries in by_user.items():
        assert [entry.id for entry in entries] == [f"{user_id}-{i:04d}" for i in range(1, 401)]
        moments = [entry.created_at for entry in entries]
        assert moments == sorted(moments)


def test_all_types_and_evergreen_procedures_only(any_corpus):
    types = Counter(entry.type for entry in any_corpus.entries)
    assert min(types[kind] for kind in MemoryType) >= 100
    for entry in any_corpus.entries:
        assert entry.evergreen == (entry.type is MemoryType.PROCEDURAL)


def test_entries_are_distinct_and_of_sensible_length(any_corpus):
    texts = [entry.content for entry in any_corpus.entries]
    assert len(set(texts)) == len(texts)
    for text in texts:
        assert 10 <= len(text.split()) <= 40, text
        assert not re.search(r"[{}]|  ", text), text


def test_wording_is_varied(any_corpus):
    openings = Counter(" ".join(entry.content.split()[:4]) for entry in any_corpus.entries)
    assert len(openings) > 1000
    assert len({word for entry in any_corpus.entries for word in entry.content.split()}) > 3000


def test_each_user_has_agents_of_their_own(any_corpus):
    agents = defaultdict(set)
    for entry in any_corpus.entries:
        agents[entry.user_id].add(entry.agent_id)
        assert entry.session_id == f"{entry.agent_id}-{entry.created_at:%m%d}"
    assert sorted(len(names) for names in agents.values()) == [2, 2, 3, 3, 3]
    namespaces = Counter(entry.namespace for entry in any_corpus.entries)
    assert namespaces[None] > 0
    assert len(namespaces) > 2


def test_the_year_is_2025_and_use_ends_before_the_first_question(any_corpus):
    start, end = datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    assert min(query.now for query in any_corpus.queries) >= ASK_FROM > ACCESS_FROZEN
    used = 0
    for entry in any_corpus.entries:
        assert start <= entry.created_at <= entry.last_accessed_at < end
        assert entry.updated_at == entry.created_at
        if entry.access_count:
            used += 1
            assert entry.created_at < entry.last_accessed_at < ACCESS_FROZEN
        else:
            assert entry.last_accessed_at == entry.created_at
    assert 300 < used < 1200


def test_use_follows_kind(any_corpus):
    means = {
        kind: sum(e.access_count for e in entries) / len(entries)
        for kind in MemoryType
        if (entries := [e for e in any_corpus.entries if e.type is kind])
    }
    assert means[MemoryType.PROCEDURAL] > 2 * means[MemoryType.EPISODIC]
    assert means[MemoryType.SEMANTIC] > 2 * means[MemoryType.EPISODIC]


def test_importance_follows_kind(any_corpus):
    def mean(entries):
        return sum(entry.importance for entry in entries) / len(entries)

    episodic = [e for e in any_corpus.entries if e.type is MemoryType.EPISODIC]
    others = [e for e in any_corpus.entries if e.type is not MemoryType.EPISODIC]
    assert mean(episodic) + 0.15 < mean(others)
    assert len({entry.importance for entry in any_corpus.entries}) > 50


def test_every_judged_entry_is_visible_to_its_query(any_corpus):
    entries = {entry.id: entry for entry in any_corpus.entries}
    grades = judged(any_corpus)
    for query in any_corpus.queries:
        for doc_id, grade in grades[query.query_id].items():
            if grade > 0 or query.category == "update":
                assert visible(entries[doc_id], query), (query.query_id, doc_id)


def test_every_query_but_nothing_relevant_has_an_answer(any_corpus):
    grades = judged(any_corpus)
    for query in any_corpus.queries:
        best = max(grades[query.query_id].values(), default=0)
        assert best == (0 if query.category == "nothing-relevant" else 2), query.query_id


def test_queries_are_asked_when_they_are_seen_from(any_corpus):
    assert all(query.now == query.as_of for query in any_corpus.queries)
    later = [
        sum(entry.created_at > query.as_of for entry in any_corpus.entries)
        for query in any_corpus.queries
    ]
    assert max(later) > 300
    texts = defaultdict(list)
    for query in any_corpus.queries:
        assert not re.search(r"[{}]", query.text)
        texts[query.scope.user_id].append(query.text.lower())
    assert all(len(set(own)) > 0.95 * len(own) for own in texts.values())


def test_the_newest_version_is_newest(any_corpus):
    entries = {entry.id: entry for entry in any_corpus.entries}
    versions = defaultdict(list)
    for entry in any_corpus.entries:
        if "fact" in entry.metadata:
            versions[entry.user_id, entry.metadata["fact"]].append(entry)
    hidden, grades_of = 0, judged(any_corpus)
    for query in any_corpus.queries:
        if query.category != "update":
            continue
        (newest,) = (entries[doc_id] for doc_id in query.metadata["newest"])
        outdated = [entries[doc_id] for doc_id in query.metadata["outdated"]]
        grades = grades_of[query.query_id]
        assert 1 <= len(outdated) <= 3
        assert grades[newest.id] == 2
        assert all(grades[entry.id] == 0 for entry in outdated)
        chain = versions[query.scope.user_id, newest.metadata["fact"]]
        seen = [entry for entry in chain if entry.created_at <= query.as_of]
        hidden += len(chain) - len(seen)
        assert [*outdated, newest] == seen == sorted(seen, key=lambda entry: entry.created_at)
        assert [entry.metadata["version"] for entry in seen] == list(range(1, len(seen) + 1))
    assert hidden > 0


def test_outdated_values_are_seldom_used_after_the_change(any_corpus):
    versions = defaultdict(dict)
    for entry in any_corpus.entries:
        if "fact" in entry.metadata:
            versions[entry.user_id, entry.metadata["fact"]][entry.metadata["version"]] = entry
    stale, replaced = 0, 0
    for chain in versions.values():
        for version, entry in chain.items():
            if version + 1 in chain:
                replaced += 1
                stale += entry.last_accessed_at > chain[version + 1].created_at
    assert 0 < stale < 0.3 * replaced


def test_cross_agent_questions_come_from_another_agent(any_corpus):
    entries = {entry.id: entry for entry in any_corpus.entries}
    grades = judged(any_corpus)
    expired = 0
    for query in any_corpus.queries:
        if query.category == "cross-agent":
            assert query.scope.agent_id is None
            for doc_id, grade in grades[query.query_id].items():
                expired += grade == 0
                if grade > 0:
                    assert entries[doc_id].agent_id != query.metadata["asked_by"]
    assert expired > 0


def test_some_questions_are_put_to_one_agent(any_corpus):
    assert 30 < sum(query.scope.agent_id is not None for query in any_corpus.queries) < 150


def test_temporal_answers_lie_in_the_span_and_the_rest_outside(any_corpus):
    entries = {entry.id: entry for entry in any_corpus.entries}
    grades = judged(any_corpus)
    dated, outside = 0, 0
    for query in any_corpus.queries:
        if query.category == "temporal" and "from" in query.metadata:
            dated += 1
            start = datetime.fromisoformat(query.metadata["from"])
            end = datetime.fromisoformat(query.metadata["to"])
            for doc_id, grade in grades[query.query_id].items():
                assert (start <= entries[doc_id].created_at < end) == (grade == 2)
                outside += grade == 0
    assert dated >= 25
    assert outside > 2 * dated


def test_near_duplicates_are_judged(any_corpus):
    entries = {entry.id: entry for entry in any_corpus.entries}
    echoed = Counter(
        (entry.user_id, entry.metadata["event"])
        for entry in any_corpus.entries
        if "event" in entry.metadata
    )
    assert len(echoed) == 5 * 34
    assert set(echoed.values()) == {2}
    partly = [
        (query_id, doc_id)
        for query_id, doc_id, grade in any_corpus.qrels.itertuples(index=False)
        if grade == 1
    ]
    assert any("event" in entries[doc_id].metadata for _, doc_id in partly)
    grades = judged(any_corpus)
    facts = [query for query in any_corpus.queries if query.category == "fact"]
    assert any(list(grades[query.query_id].values()).count(2) > 1 for query in facts)


def test_nothing_relevant_is_nothing_for_three_reasons(any_corpus):
    reasons = Counter(
        query.metadata["why"]
        for query in any_corpus.queries
        if query.category == "nothing-relevant"
    )
    assert reasons == {"never told": 10, "told by another user": 10, "told only later": 10}


def test_many_questions_share_no_content_word_with_their_answer(any_corpus):
    entries = {entry.id: entry for entry in any_corpus.entries}
    grades = judged(any_corpus)
    apart = [
        not any(
            content_words(query.text) & content_words(entries[doc_id].content)
            for doc_id, grade in grades[query.query_id].items()
            if grade == 2
        )
        for query in any_corpus.queries
        if query.category != "nothing-relevant"
    ]
    assert 0.3 < sum(apart) / len(apart) < 0.6


def test_the_phrases_are_filled_with_known_slots_only():
    phrases = load_phrases()
    assert len(phrases.facts) > 100
    for event in (*phrases.events, *phrases.recurring):
        assert all(len(row) == len(event.fields) for row in event.rows), event.key
    for change in phrases.changes:
        assert all("{v}" in line for line in (*change.first, *change.later)), change.key
        assert len(change.later) >= 3
        assert len(set(change.values)) == len(change.values) >= 4


def test_writing_is_reproducible_and_reading_gives_it_back(corpus, folder, tmp_path_factory):
    again = tmp_path_factory.mktemp("again")
    write(read(folder), again)
    for name in FILES:
        assert (again / name).read_bytes() == (folder / name).read_bytes()
    assert read(folder).fingerprint() == corpus.fingerprint()


def test_the_checksum_follows_the_files(folder):
    before = read(folder).card.checksum
    path = folder / "qrels.tsv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n")
    assert read(folder).card.checksum != before


def test_a_missing_file_is_named(folder):
    (folder / "queries.jsonl").unlink()
    with pytest.raises(CorpusFileMissing, match=r"expected queries\.jsonl"):
        read(folder)


@pytest.mark.parametrize(
    ("name", "number", "line", "message"),
    [
        ("entries.jsonl", 3, "{", "not JSON"),
        ("entries.jsonl", 3, "[]", "expected an object"),
        ("entries.jsonl", 2, '{"id":"x"}', "expected the field 'content'"),
        ("entries.jsonl", 2, ENTRY | {"importance": 2}, "importance"),
        ("entries.jsonl", 2, ENTRY | {"created_at": "2025-01-02"}, "time zone"),
        ("entries.jsonl", 2, ENTRY | {"colour": "blue"}, "unknown field 'colour'"),
        ("queries.jsonl", 1, '{"query_id":"x"}', "expected the field 'text'"),
        ("queries.jsonl", 5, QUERY | {"text": " "}, "text must not be blank"),
        ("queries.jsonl", 5, QUERY | {"text": 3}, "expected text"),
        ("queries.jsonl", 5, QUERY | {"team": "a"}, "unknown field 'team'"),
        ("queries.jsonl", 5, QUERY | {"user_id": 1}, "user_id must be text"),
        ("queries.jsonl", 5, QUERY | {"now": "noon"}, "ISO 8601"),
        ("queries.jsonl", 5, QUERY | {"metadata": []}, "expected an object"),
        ("qrels.tsv", 1, "a\tb\tc", "expected the header"),
        ("qrels.tsv", 4, "a\tb", "split by tabs"),
        ("qrels.tsv", 4, "a\tb\t7", "relevance of 0, 1 or 2"),
    ],
)
def test_a_damaged_line_is_named(folder, name, number, line, message):
    path = folder / name
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[number - 1] = line if isinstance(line, str) else json.dumps(line)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=rf"{re.escape(name)}: (at )?line {number}\b.*{message}"):
        read(folder)


def test_bytes_that_are_not_text_are_reported(folder):
    path = folder / "entries.jsonl"
    path.write_bytes(path.read_bytes().replace(b"Pager", b"P\xe4ger"))
    with pytest.raises(CorpusError, match="UTF-8"):
        read(folder)


def test_a_judgement_of_an_unknown_entry_is_reported(folder):
    path = folder / "qrels.tsv"
    path.write_text(path.read_text() + "mira-fact-01\tnobody-0001\t2\n")
    with pytest.raises(CorpusError, match="nobody-0001"):
        read(folder)
