import json
from pathlib import Path

import pytest

from nousmem.corpora import list_corpora, load_corpus, recognise_corpus
from nousmem.corpora.registry import is_corpus
from nousmem.errors import CorpusError, CorpusFileMissing, InvalidParameter, UnknownName

NAMES = ["assistant-year", "locomo", "longmemeval", "beam", "beir", "trec", "tables"]


def test_an_unknown_name_gets_the_close_match():
    with pytest.raises(UnknownName, match=r"unknown corpus 'lokomo'; did you mean 'locomo'"):
        load_corpus("lokomo")


def test_an_unknown_option_names_the_valid_ones():
    with pytest.raises(InvalidParameter, match=r"no option 'unit'.*granularity, categories, corr"):
        load_corpus("locomo", unit="turn")


def test_options_reach_the_loader(tmp_path: Path):
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "text": "t"}\n', encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "t"}\n', encoding="utf-8")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "dev.tsv").write_text("q\td\t1\n", encoding="utf-8")
    assert len(load_corpus("beir", path=tmp_path, split="dev").queries) == 1


def test_what_is_listed(cache: Path, tmp_path: Path, monkeypatch):
    table = list_corpora().set_index("name")
    assert table.index.tolist() == NAMES
    assert table.index[table["on_this_disk"]].tolist() == ["assistant-year"]
    assert table.loc["locomo", "place"] == str(cache / "locomo10.json")
    assert "downloaded when first loaded" in table.loc["locomo", "how_to_get"]
    assert "NOUSMEM_DATA" in table.loc["beam", "how_to_get"]
    assert table.loc["beir", "how_to_get"] == "give its folder as path="
    (tmp_path / "locomo10.json").touch()
    monkeypatch.setenv("NOUSMEM_DATA", str(tmp_path))
    table = list_corpora().set_index("name")
    assert table.loc["locomo", "place"] == str(tmp_path / "locomo10.json")
    assert table.loc["locomo", "on_this_disk"]
    assert table.loc["locomo", "how_to_get"] == ""


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("locomo", {"any.json": [{"sample_id": "a", "conversation": {"x": 1}}]}),
        ("longmemeval", {"any.json": [{"haystack_sessions": [[1]]}]}),
        ("longmemeval", {"any.json": [{"sessions": [], "answer_session_ids": []}]}),
        ("beam", {"any.json": [{"batches": [1]}]}),
        ("beam", {"1/chat.json": []}),
        ("beir", {"corpus.jsonl": {}, "queries.jsonl": {}}),
        ("trec", {"qrels.txt": "", "topics.txt": ""}),
        ("trec", {"cran.all.1400": "", "cranqrel": ""}),
        ("tables", {"entries.csv": "", "qrels.csv": ""}),
    ],
)
def test_formats_are_recognised(tmp_path: Path, name: str, files: dict[str, object]):
    for path, content in files.items():
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(content), encoding="utf-8")
    single = tmp_path / "any.json"
    assert recognise_corpus(single if single.exists() else tmp_path) == name


def test_what_is_not_recognised(tmp_path: Path):
    with pytest.raises(CorpusError, match="in no known format"):
        recognise_corpus(tmp_path)
    with pytest.raises(CorpusFileMissing, match="no file or folder at"):
        recognise_corpus(tmp_path / "absent")
    (tmp_path / "else.json").write_text('[{"a": 1}]', encoding="utf-8")
    with pytest.raises(CorpusError, match="in no known format"):
        recognise_corpus(tmp_path / "else.json")
    with pytest.raises(CorpusFileMissing, match="no file or folder at"):
        recognise_corpus(tmp_path / "absent.json")


OWN = """
from nousmem import corpus_from_frames
from nousmem.errors import CorpusError

def load_mine(path=None, *, size=2, what=""):
    if size < 0:
        raise CorpusError("size must be at least 0")
    notes = [{"id": f"n{at}", "text": f"note {at} {path} {what}"} for at in range(size)]
    return corpus_from_frames(
        notes,
        [{"qid": "q", "question": "note 0?", "now": "2026-01-01T00:00:00Z"}],
        [{"qid": "q", "doc_id": "n0", "label": 1}],
        name="mine",
    )

def without_path(size):
    return load_mine(size=size)

WHOLE = load_mine(size=3)
notes = ["tea"]

def list_notes():
    return notes

def fail():
    return notes[3]
"""


def test_a_corpus_of_ones_own(own_code):
    own_code(mine=OWN)
    assert len(load_corpus("mine:WHOLE").entries) == 3
    assert len(load_corpus("mine:load_mine").entries) == 2
    corpus = load_corpus("mine:load_mine", path="folder", size=1, what="w")
    assert [entry.content for entry in corpus.entries] == ["note 0 folder w"]
    assert len(load_corpus("mine:without_path", size=4).entries) == 4
    assert is_corpus("mine:load_mine")
    assert not is_corpus("mine/load_mine")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mine:load_mine", {"sise": 3}, "corpus 'mine:load_mine' cannot be called so: .*'sise'"),
        ("mine:without_path", {"size": 1, "path": "x"}, "'mine:without_path' cannot be.*'path'"),
        ("mine:WHOLE", {"path": "x"}, "corpus 'mine:WHOLE' is made already.*no options: path"),
        ("mine:notes", {}, r"corpus 'mine:notes' is \['tea'\]: expected a Corpus, or a class or"),
        ("mine:list_notes", {}, r"corpus 'mine:list_notes' returned \['tea'\]: expected a Corpus"),
        ("mine:fail", {}, "corpus 'mine:fail' failed: IndexError: list index out of range .*mine"),
        ("mine:absent", {}, "corpus 'mine:absent': module 'mine' has no 'absent'"),
        ("absent_one:x", {}, "corpus 'absent_one:x': there is no module 'absent_one'"),
    ],
)
def test_what_is_no_corpus_of_ones_own(own_code, name, options, message):
    own_code(mine=OWN)
    with pytest.raises(InvalidParameter, match=message):
        load_corpus(name, **options)


def test_what_the_loader_says_itself_passes(own_code):
    own_code(mine=OWN)
    with pytest.raises(CorpusError, match="size must be at least 0"):
        load_corpus("mine:load_mine", size=-1)
