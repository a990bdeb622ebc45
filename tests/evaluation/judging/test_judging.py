"""Pools to judge, the file of judgements, and what the judgements can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import ir_measures
import pandas as pd
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.embeddings import HashingEmbedder
from nousmem.evaluation.judging.labelling import LabelSession
from nousmem.evaluation.judging.proposing import (
    Judgement,
    JudgementFile,
    judged_at,
    judged_share,
    leg_contributions,
    propose_pool,
    read_qrels,
)
from nousmem.retrieval.candidates import LEGS
from nousmem.stores.memory import MemoryStore

NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)
HEADER = "query_id\tdoc_id\trelevance\tjudged_at\tpool\ttext_rank\tvector_rank\n"
CONTENTS = {
    "tea": "Ada drinks green tea in the morning",
    "bees": "Ada keeps bees behind the house",
    "sail": "Bo sails on Sundays",
    "boat": "Bo's boat is called Petrel",
    "work": "Ada takes the tram to work",
    "late": "Ada drinks coffee since March",
}


@dataclass(frozen=True)
class Important:
    """A leg that ranks by importance alone."""

    name: str = "important"

    def search(self, request: nm.LegRequest) -> list[tuple[str, float]]:
        found = sorted(request.entries(), key=lambda one: (-one.importance, one.id))
        return [(one.id, one.importance) for one in found[: request.depth]]


@dataclass(frozen=True)
class Brief:
    """A leg that scores what others found."""

    name: str = "brief"

    def score(self, request: nm.LegRequest, entries: Sequence[nm.Entry]) -> list[float]:
        return [1 / len(entry.content) for entry in entries]


@pytest.fixture
def store() -> nm.Store:
    embedder = HashingEmbedder(64)
    opened = nm.open_store("sqlite::memory:")
    entries = [
        nm.Entry(
            text,
            id=key,
            user_id="ada" if "Ada" in text else "bo",
            created_at=NOON + timedelta(days=30 if key == "late" else 0),
        )
        for key, text in CONTENTS.items()
    ]
    opened.put(nm.embed(entries, embedder))
    return opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "qrels.tsv"


def judgement(query_id: str, doc_id: str, relevance: int = 2, **values: object) -> Judgement:
    return Judgement(query_id, doc_id, relevance, NOON, **values)


class TestPool:
    def test_it_is_the_union_of_the_legs_to_the_depth(self, corpus: nm.Corpus) -> None:
        embedder = HashingEmbedder(64)
        store = nm.open_store("sqlite::memory:")
        store.put(nm.embed(corpus.entries, embedder))
        pool = propose_pool(store, corpus.queries, depth=4, embedder=embedder)
        assert list(dict.fromkeys(pool["query_id"])) == [q.query_id for q in corpus.queries]
        for query in corpus.queries:
            (vector,) = embedder.embed_queries([query.text])
            own = pool[pool["query_id"] == query.query_id].set_index("doc_id")
            for leg in LEGS:
                within = {"scope": query.scope, "limit": 4, "as_of": query.as_of}
                wanted = (
                    store.search_text(query.text, **within)
                    if leg == "text"
                    else store.search_vector(vector, **within)
                )
                expected = {entry.id: rank for rank, (entry, _) in enumerate(wanted, 1)}
                assert own[f"{leg}_rank"].dropna().to_dict() == expected
            ranked = own[["text_rank", "vector_rank"]].notna().sum(axis="columns")
            assert own["n_legs"].tolist() == ranked.tolist()
            assert own["n_legs"].min() >= 1
        assert set(pool["pool"]) == {"text+vector@4"}

    def test_columns(self, store: nm.Store) -> None:
        query = nm.Query("tea", "what does ada drink", now=NOON, as_of=NOON)
        pool = propose_pool(store, [query], depth=2)
        assert list(pool.columns) == [
            "query_id",
            "text",
            "as_of",
            "doc_id",
            "content",
            "created_at",
            "text_rank",
            "vector_rank",
            "n_legs",
            "pool",
        ]
        row = pool[pool["doc_id"] == "tea"].iloc[0]
        assert (row["text"], row["content"]) == ("what does ada drink", CONTENTS["tea"])
        assert (row["as_of"], row["created_at"]) == (NOON, NOON)
        assert (row["text_rank"], row["pool"]) == (1, "text@2")
        assert pd.isna(row["vector_rank"])

    def test_the_order_depends_on_the_seed_and_says_nothing_of_ranks(
        self, corpus: nm.Corpus
    ) -> None:
        store = nm.open_store("sqlite::memory:")
        store.put(corpus.entries)
        pool = propose_pool(store, corpus.queries, depth=8)
        again = propose_pool(store, reversed(corpus.queries), depth=8)
        other = propose_pool(store, corpus.queries, depth=8, seed=1)
        by_query = {q: list(own["doc_id"]) for q, own in pool.groupby("query_id")}
        assert {q: list(own["doc_id"]) for q, own in again.groupby("query_id")} == by_query
        changed = {q: list(own["doc_id"]) for q, own in other.groupby("query_id")}
        assert changed != by_query
        assert {q: sorted(ids) for q, ids in changed.items()} == {
            q: sorted(ids) for q, ids in by_query.items()
        }
        places = pool.groupby("query_id").cumcount() + 1
        assert abs(places.corr(pool["text_rank"].astype(float))) < 0.2

    def test_a_deeper_pool_keeps_the_order(self, corpus: nm.Corpus) -> None:
        store = nm.open_store("sqlite::memory:")
        store.put(corpus.entries)
        pairs = ["query_id", "doc_id"]
        shallow = propose_pool(store, corpus.queries, depth=3)[pairs]
        deep = propose_pool(store, corpus.queries, depth=12)[pairs]
        kept = deep.merge(shallow, on=pairs)
        assert len(deep) > len(shallow)
        pd.testing.assert_frame_equal(kept, shallow)

    def test_queries_may_be_texts_rows_a_frame_or_a_file(
        self, store: nm.Store, tmp_path: Path
    ) -> None:
        texts = ["who keeps bees", "who sails"]
        file = tmp_path / "queries.csv"
        pd.DataFrame({"question": texts}).to_csv(file, index=False)
        expected = propose_pool(store, texts)
        assert set(expected["query_id"]) == {"q1", "q2"}
        for given in ([{"text": t} for t in texts], pd.DataFrame({"query": texts}), file):
            pd.testing.assert_frame_equal(propose_pool(store, given), expected)

    def test_a_search_brings_its_embedder_and_legs(self, store: nm.Store) -> None:
        vectors = nm.Retrieval(legs=["vector"], depth=2)
        search = nm.Search(store, HashingEmbedder(64), retrieval=vectors)
        pool = propose_pool(search, ["bees"])
        assert set(pool["pool"]) == {"vector@30"}
        assert pool["text_rank"].isna().all()
        with pytest.raises(nm.InvalidParameter, match="belong to the Search"):
            propose_pool(search, ["bees"], embedder=HashingEmbedder(64))
        with pytest.raises(nm.InvalidParameter, match="belong to the Search"):
            propose_pool(search, ["bees"], retrieval=vectors)

    def test_legs_of_ones_own_propose(self, corpus: nm.Corpus) -> None:
        store = nm.open_store("sqlite::memory:")
        store.put(corpus.entries)
        retrieval = nm.Retrieval(legs=["text", Important(), Brief()], depth=50)
        pool = propose_pool(store, corpus.queries, depth=4, retrieval=retrieval)
        again = propose_pool(nm.Search(store, retrieval=retrieval), corpus.queries, depth=4)
        pd.testing.assert_frame_equal(again, pool)
        assert list(pool.columns[6:]) == [
            *("text_rank", "vector_rank", "important_rank", "n_legs", "pool")
        ]
        assert set(pool["pool"]) == {"text+important@4"}
        assert pool["vector_rank"].isna().all()
        entries = {entry.id: entry for entry in corpus.entries}
        for query in corpus.queries:
            own = pool[pool["query_id"] == query.query_id].set_index("doc_id")
            ranked = own["important_rank"].dropna().sort_values()
            assert ranked.tolist() == [1, 2, 3, 4]
            seen = [
                entry.importance
                for entry in entries.values()
                if entry.user_id == query.scope.user_id
                and (query.as_of is None or entry.created_at <= query.as_of)
            ]
            found = [entries[one].importance for one in ranked.index]
            assert found == sorted(seen, reverse=True)[:4]
            proposed = own[["text_rank", "important_rank"]].notna().sum(axis="columns")
            assert own["n_legs"].tolist() == proposed.tolist()
        empty = propose_pool(store, ["  x", "xyzzy"], retrieval=nm.Retrieval(legs=["text"]))
        assert empty.empty

    def test_a_leg_that_breaks_its_rules_is_named(self, store: nm.Store) -> None:
        class Twice:
            name = "twice"

            def search(self, request: nm.LegRequest) -> list[tuple[nm.Entry, float]]:
                return [(request.entries()[0], 1.0)] * 2

        with pytest.raises(nm.ExtensionError, match="leg 'twice'"):
            propose_pool(store, ["bees"], retrieval=nm.Retrieval(legs=["text", Twice()]))
        only_scores = nm.Retrieval(legs=[Brief()])
        with pytest.raises(nm.InvalidParameter, match="only score"):
            propose_pool(store, ["bees"], retrieval=only_scores)

    def test_scope_and_as_of_are_the_querys_own(self, store: nm.Store) -> None:
        query = nm.Query(
            "q", "ada bo drinks sails", now=NOON, as_of=NOON, scope=nm.Scope(user_id="ada")
        )
        assert set(propose_pool(store, [query])["doc_id"]) == {"tea", "bees", "work"}
        assert "late" in set(propose_pool(store, [query], as_of=False)["doc_id"])

    def test_what_finds_nothing_has_no_row(self, store: nm.Store) -> None:
        queries = [nm.Query("blank", "  ", now=NOON), nm.Query("odd", "xyzzy", now=NOON)]
        pool = propose_pool(store, queries)
        assert pool.empty
        assert "doc_id" in pool.columns
        assert propose_pool(store, []).empty

    @pytest.mark.parametrize(
        ("queries", "options", "error", "message"),
        [
            (["x"], {"depth": 0}, nm.InvalidParameter, "depth"),
            (["x"], {"retrieval": nm.Retrieval(legs=["vector"])}, nm.InvalidParameter, "embedder"),
            (["x", "  "], {}, nm.CorpusError, "row 2"),
            (42, {}, nm.InvalidParameter, "int"),
            ([42], {}, nm.InvalidParameter, "queries"),
            ("no such file.csv", {}, nm.CorpusFileMissing, "no such file"),
            ([nm.Query("q", "x", now=NOON)] * 2, {}, nm.CorpusError, "repeats"),
        ],
    )
    def test_what_is_refused(self, store, queries, options, error, message) -> None:
        with pytest.raises(error, match=message):
            propose_pool(store, queries, **options)

    def test_a_store_without_vectors_has_one_leg(self) -> None:
        class TextOnly(MemoryStore):
            search_vector = None

        opened = TextOnly()
        opened.put([nm.Entry("bees", id="b", created_at=NOON)])
        pool = propose_pool(opened, ["bees"], embedder=HashingEmbedder(64))
        assert pool["pool"].tolist() == ["text@30"]


class TestFile:
    def test_what_is_put_is_read(self, path: Path) -> None:
        file = JudgementFile(path)
        assert file.read() == {}
        kept = [
            judgement("q1", "a", 2, pool="text@9", text_rank=3),
            judgement("q1", 'tab\tand "quote"\nand line', 0),
            judgement("зап", "日本", 1, vector_rank=1),
        ]
        for one in kept:
            file.put(one)
        assert list(JudgementFile(path).read().values()) == kept
        assert path.read_text(encoding="utf-8").startswith(
            HEADER + "q1\ta\t2\t2026-03-15T12:00:00Z\ttext@9\t3\t\n"
        )

    def test_a_new_judgement_is_appended(self, path: Path) -> None:
        file = JudgementFile(path)
        file.put(judgement("q1", "a"))
        before, inode = path.read_bytes(), path.stat().st_ino
        file.put(judgement("q1", "b"))
        assert path.read_bytes().startswith(before)
        assert path.stat().st_ino == inode

    def test_a_change_leaves_one_line_a_pair(self, path: Path) -> None:
        file = JudgementFile(path)
        for doc_id in "abc":
            file.put(judgement("q1", doc_id))
        file.put(judgement("q1", "b", 0))
        file.remove(("q1", "c"))
        file.remove(("q1", "never judged"))
        assert {pair: one.relevance for pair, one in file.read().items()} == {
            ("q1", "a"): 2,
            ("q1", "b"): 0,
        }
        assert len(path.read_text().splitlines()) == 3
        assert [one.name for one in path.parent.iterdir()] == ["qrels.tsv"]

    def test_what_another_program_wrote_meanwhile_is_kept(self, path: Path) -> None:
        mine, theirs = JudgementFile(path), JudgementFile(path)
        mine.put(judgement("q1", "a"))
        theirs.put(judgement("q2", "b"))
        mine.put(judgement("q1", "a", 0))
        assert set(mine.read()) == {("q1", "a"), ("q2", "b")}

    def test_a_file_cut_off_anywhere_is_read_up_to_there(self, path: Path) -> None:
        file = JudgementFile(path)
        for doc_id in ("a", "b"):
            file.put(judgement("q1", doc_id, pool="text@9", text_rank=1))
        whole = path.read_bytes()
        first_ends = whole.index(b"\n", len(HEADER)) + 1
        for length in range(len(whole)):
            path.write_bytes(whole[:length])
            found = set(file.read())
            assert (("q1", "a") in found) >= (length >= first_ends)
            file.put(judgement("q1", "c"))
            assert set(file.read()) == found | {("q1", "c")}
            assert path.read_bytes().endswith(b"\n")

    def test_a_last_line_without_an_end_counts(self, path: Path) -> None:
        file = JudgementFile(path)
        file.put(judgement("q1", "a"))
        path.write_bytes(path.read_bytes().rstrip(b"\n"))
        assert set(file.read()) == {("q1", "a")}

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("query_id,text\n1,hello\n", "line 1: expected the columns query_id"),
            (HEADER + "q1\ta\n", "line 2: expected 7 columns, got 2"),
            (HEADER + "q1\ta\tyes\t2026-03-15T12:00:00Z\t\t\t\n", "line 2: .*yes"),
            (HEADER + "q1\ta\t1\t2026-03-15\t\t\t\n", "line 2: judged_at: .*time zone"),
            (HEADER + "q1\t\t1\t2026-03-15T12:00:00Z\t\t\t\n", "doc_id is missing"),
            (HEADER + 2 * "q1\ta\t1\t2026-03-15T12:00:00Z\t\t\t\n", "line 3: .*judged twice"),
            (HEADER + 'q1\t"a\t1\t2026-03-15T12:00:00Z\t\t\t\n', "line 2"),
            ("\x00\x01", "NUL"),
        ],
    )
    def test_another_file_is_refused_and_left_alone(self, path, text, message) -> None:
        path.parent.mkdir()
        path.write_text(text)
        for use in (
            JudgementFile(path).read,
            lambda: JudgementFile(path).put(judgement("q", "d")),
            lambda: read_qrels(path),
        ):
            with pytest.raises(nm.CorpusError, match=message):
                use()
        assert path.read_text() == text

    def test_a_place_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(nm.CorpusError, match="cannot write"):
            JudgementFile(tmp_path / "file" / "qrels.tsv").put(judgement("q", "d"))
        with pytest.raises(nm.CorpusError, match="cannot"):
            JudgementFile(tmp_path).put(judgement("q", "d"))

    def test_qrels(self, path: Path) -> None:
        with pytest.raises(nm.CorpusError, match="no judgements at"):
            read_qrels(path)
        file = JudgementFile(path)
        file.put(judgement("007", "a", 2, pool="text+vector@9", text_rank=3))
        file.put(judgement("007", "b", 0, pool="text+vector@9", vector_rank=1))
        qrels = read_qrels(path)
        assert qrels["query_id"].tolist() == ["007", "007"]
        assert qrels["relevance"].tolist() == [2, 0]
        assert qrels["judged_at"].tolist() == [NOON, NOON]
        assert qrels["text_rank"].isna().tolist() == [False, True]
        file.remove(("007", "a"))
        file.remove(("007", "b"))
        assert read_qrels(path).empty


class TestSession:
    POOL = pd.DataFrame(
        {
            "query_id": ["q1", "q1", "q1", "q2"],
            "text": ["one?", "one?", "one?", "two?"],
            "doc_id": ["a", "b", "c", "a"],
            "content": ["A", "B", "C", "A"],
            "pool": "text@9",
            "text_rank": pd.Series([1, 2, 3, 1], dtype="Int64"),
        }
    )

    @pytest.fixture
    def session(self, path: Path) -> LabelSession:
        return LabelSession(self.POOL, path, clock=lambda: NOON)

    def left(self, path: Path) -> dict[tuple[str, str], int]:
        return {pair: one.relevance for pair, one in JudgementFile(path).read().items()}

    def test_every_judgement_is_on_disk_at_once(self, session, path) -> None:
        session.judge(2)
        assert self.left(path) == {("q1", "a"): 2}
        assert session.current.doc_id == "b"
        (written,) = JudgementFile(path).read().values()
        assert written == judgement("q1", "a", 2, pool="text@9", text_rank=1)

    def test_a_new_session_goes_on(self, session, path) -> None:
        session.press("2s")
        again = LabelSession(self.POOL, path, clock=lambda: NOON)
        assert again.current.doc_id == "b"
        again.press("0 1")
        assert again.current.query_id == "q2"
        assert self.left(path) == {("q1", "a"): 2, ("q1", "b"): 0, ("q1", "c"): 1}

    def test_keys_to_the_end(self, session, path) -> None:
        session.press("2 p 0 S")
        assert session.current is None
        progress = session.progress
        assert (progress.candidates, progress.judged, progress.relevant) == (4, 3, 2)
        assert (progress.skipped, progress.queries, progress.queries_done) == (1, 2, 1)
        session.press("2")
        assert ("q2", "a") not in self.left(path)
        session.press("u2")
        assert session.current is None
        assert self.left(path)[("q2", "a")] == 2
        assert session.progress.skipped == 0

    def test_undo(self, session, path) -> None:
        session.press("u")
        session.press("2 1 k k 0")
        assert self.left(path) == {("q1", "a"): 0, ("q1", "b"): 1}
        assert session.current.doc_id == "c"
        session.press("u")
        assert self.left(path) == {("q1", "a"): 2, ("q1", "b"): 1}
        assert session.current.doc_id == "a"
        session.press("u u u")
        assert self.left(path) == {}
        assert session.current.doc_id == "a"
        session.press("s u")
        assert session.progress.skipped == 0
        assert session.current.doc_id == "a"

    def test_what_was_skipped_can_be_judged_after_all(self, session, path) -> None:
        session.press("s k 1")
        assert self.left(path) == {("q1", "a"): 1}
        assert session.progress.skipped == 0
        session.press("u")
        assert session.skipped(session.current)
        assert self.left(path) == {}

    def test_moving_stops_at_the_ends(self, session) -> None:
        session.press("k")
        assert session.current.doc_id == "a"
        session.press("jjjjjj")
        assert session.current.query_id == "q2"
        session.go_to_query("q1")
        assert session.current.doc_id == "a"
        with pytest.raises(nm.InvalidParameter, match="q9"):
            session.go_to_query("q9")

    def test_a_wrong_key_does_nothing_at_all(self, session, path) -> None:
        with pytest.raises(nm.InvalidParameter, match="no key '3'"):
            session.press("2 3")
        assert not path.exists()
        with pytest.raises(nm.InvalidParameter, match="2, 1 or 0"):
            session.judge(5)

    def test_a_failed_write_leaves_the_session_where_it_was(self, path, monkeypatch) -> None:
        session = LabelSession(self.POOL, path, clock=lambda: NOON)

        def refuse(*_: object) -> None:
            raise nm.CorpusError("cannot write")

        monkeypatch.setattr(JudgementFile, "put", refuse)
        with pytest.raises(nm.CorpusError):
            session.judge(2)
        assert session.current.doc_id == "a"
        assert session.progress.judged == 0

    def test_an_empty_pool_has_nothing_to_judge(self, path) -> None:
        session = LabelSession(self.POOL[:0], path)
        assert session.current is None
        session.press("2sukj")
        assert session.current is None
        assert not path.exists()

    def test_a_pool_from_its_file(self, store, path, tmp_path) -> None:
        pool = propose_pool(store, ["ada drinks"], embedder=HashingEmbedder(64))
        pool.to_csv(tmp_path / "pool.csv", index=False)
        direct = LabelSession(pool, path)
        assert LabelSession(tmp_path / "pool.csv", path).candidates == direct.candidates

    def test_a_table_that_is_no_pool(self, path) -> None:
        with pytest.raises(nm.InvalidParameter, match="missing: doc_id"):
            LabelSession(self.POOL.drop(columns="doc_id"), path)


class TestStatistics:
    QRELS = pd.DataFrame(
        {
            "query_id": ["q1"] * 4 + ["q2"],
            "doc_id": ["a", "b", "c", "d", "a"],
            "relevance": [2, 1, 1, 0, 2],
            "pool": "text+vector@30",
            "text_rank": pd.Series([1, None, 7, 2, 3], dtype="Int64"),
            "vector_rank": pd.Series([2, 15, None, 1, None], dtype="Int64"),
        }
    )

    def test_leave_one_leg_out(self) -> None:
        table = leg_contributions(self.QRELS).set_index("leg")
        assert table.loc["text"].to_dict() == {
            "n_judged": 4,
            "n_relevant": 3,
            "n_unique": 2,
            "unique_share": 0.5,
            "deepest": 7,
        }
        assert table.loc["vector"].to_dict() == {
            "n_judged": 3,
            "n_relevant": 2,
            "n_unique": 1,
            "unique_share": 0.25,
            "deepest": 15,
        }

    def test_unique_share_is_the_recall_lost_without_the_leg(self) -> None:
        relevant = self.QRELS[self.QRELS["relevance"] > 0]
        without_text = relevant[relevant["vector_rank"].notna()]
        table = leg_contributions(self.QRELS).set_index("leg")
        assert table.loc["text", "unique_share"] == 1 - len(without_text) / len(relevant)

    def test_only_legs_that_were_read(self) -> None:
        one_leg = self.QRELS.assign(pool="text@30", vector_rank=pd.NA)
        assert leg_contributions(one_leg)["leg"].tolist() == ["text"]
        none_relevant = one_leg.assign(relevance=0)
        row = leg_contributions(none_relevant).iloc[0]
        assert pd.isna(row["unique_share"])
        assert pd.isna(row["deepest"])
        assert leg_contributions(self.QRELS[:0]).empty
        with pytest.raises(nm.InvalidParameter, match="missing: pool"):
            leg_contributions(self.QRELS.drop(columns="pool"))

    def test_legs_of_ones_own_need_their_ranks(self) -> None:
        with_own = self.QRELS.assign(pool="text+vector+own@30")
        with pytest.raises(nm.InvalidParameter, match=r"missing: own_rank"):
            leg_contributions(with_own)
        ranks = pd.Series([None, 1, 2, None, None], dtype="Int64")
        table = leg_contributions(with_own.assign(own_rank=ranks)).set_index("leg")
        assert table["n_judged"].to_dict() == {"text": 4, "vector": 3, "own": 2}
        assert table["n_unique"].to_dict() == {"text": 1, "vector": 0, "own": 0}
        assert table["deepest"].to_dict() == {"text": 7, "vector": 15, "own": 2}

    def test_judged_share(self) -> None:
        pool = pd.DataFrame({"query_id": ["q2", "q2", "q1", "q1"], "doc_id": ["a", "x", "a", "d"]})
        assert judged_share(pool, self.QRELS).to_dict("list") == {
            "query_id": ["q2", "q1"],
            "n_candidates": [2, 2],
            "n_judged": [1, 2],
            "share": [0.5, 1.0],
            "n_relevant": [1, 1],
        }

    @pytest.mark.parametrize("k", [1, 3, 10])
    def test_judged_at_agrees_with_ir_measures(self, corpus: nm.Corpus, k: int) -> None:
        store = nm.open_store("sqlite::memory:")
        store.put(corpus.entries)
        run = ev.run_queries(nm.Search(store), corpus.queries)
        mine = judged_at(run, corpus.qrels, k=k).set_index("query_id")[f"Judged@{k}"]
        theirs = {
            metric.query_id: metric.value
            for metric in ir_measures.iter_calc(
                [ir_measures.Judged @ k],
                corpus.qrels,
                # Ties go the other way there: scores from ranks leave none.
                run.assign(score=-run["rank"].astype(float)),
            )
        }
        assert mine.to_dict() == pytest.approx(theirs)
        assert 0 < mine.mean() < 1

    def test_no_ranking_leaves_a_pool_of_its_depth(self, corpus: nm.Corpus) -> None:
        embedder = HashingEmbedder(64)
        store = nm.open_store("sqlite::memory:")
        store.put(nm.embed(corpus.entries, embedder))
        pool = propose_pool(store, corpus.queries, depth=4, embedder=embedder)
        judged = pool.assign(relevance=0)
        search = nm.Search(store, embedder, scoring=nm.Scoring(decay_lambda=0.01))
        for depth, complete in ((4, True), (12, False)):
            deep = nm.Retrieval(depth=depth)
            run = ev.run_queries(search.replace(retrieval=deep), corpus.queries)
            lowest = judged_at(run, judged, k=10)["Judged@10"].min()
            assert lowest == 1 if complete else lowest < 1

    def test_judged_at_of_ties(self) -> None:
        run = pd.DataFrame({"query_id": "q1", "doc_id": ["x", "a"], "score": 1.0})
        assert judged_at(run, self.QRELS, k=1)["Judged@1"].tolist() == [0.0]
        with pytest.raises(nm.InvalidParameter, match="k must"):
            judged_at(run, self.QRELS, k=0)


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.IdleParameterWarning")
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_labels_become_a_corpus_that_can_be_swept(store, path, tmp_path, kind) -> None:
    texts = ["what does ada drink", "who sails on sundays", "xyzzy"]
    queries = tmp_path / "queries.csv"
    pd.DataFrame({"text": texts}).to_csv(queries, index=False)
    pool = propose_pool(store, queries, depth=5)
    folder = tmp_path / "tables"
    session = LabelSession(pool, folder / "qrels.tsv", clock=lambda: NOON)
    while session.current is not None:
        one = session.current
        wanted = {"q1": {"tea", "late"}, "q2": {"sail"}}[one.query_id]
        session.judge(2 if one.doc_id in wanted else 0)
    session.move(-1)
    session.judge(1)  # changed once, which must not leave two lines
    session.undo()
    nm.export_entries(store, folder / f"entries.{kind}")
    (folder / "queries.csv").write_bytes(queries.read_bytes())

    direct = nm.corpus_from_frames(store, queries, read_qrels(folder / "qrels.tsv"))
    loaded = nm.load_corpus("tables", path=folder)
    for corpus in (direct, loaded):
        assert [query.query_id for query in corpus.queries] == ["q1", "q2"]
        assert len(corpus.qrels) == len(pool)
        swept = ev.sweep(
            corpus, grid={"decay_lambda": [0, 1e-3], "w_recency": [0]}, measures=["R@10", "RR"]
        )
        assert swept.frame["R@10"].tolist() == [1.0, 1.0]
        assert swept.n_queries == 2
