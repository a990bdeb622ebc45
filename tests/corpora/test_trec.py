from pathlib import Path

import pytest

from nousmem.corpora import load_corpus, load_trec
from nousmem.corpora.files import CHECKSUM_FAULT
from nousmem.errors import CorpusError, CorpusFileMissing, InvalidParameter

SMART_DOCUMENTS = """.I 1
.T
on bees
.A
lovelace,a.
.B
j. bees 1, 1950.
.W
bees make
  honey .
.I 2
.T
.A
.B
.W
.I 3
.T
on boats
.A
.B
.W
boats float .
.W
they do .
"""
SMART_TOPICS = ".I 001\r\n.W\r\nwho makes\r\nhoney .\r\n.I 004\r\n.W\r\nwhat floats .\r\n"
CODES = "1 1 1\n1 3 -1\n2 3 4\n2 2 3\n"

TREC_DOCUMENTS = """<DOC>
<DOCNO> AB-1 </DOCNO>
<HEADLINE>Bees &amp; honey</HEADLINE>
<TEXT>
Bees make <b>honey</b>.
</TEXT>
</DOC>
<DOC><DOCNO>AB-2</DOCNO><TEXT>Boats float.</TEXT></DOC>
"""
TREC_TOPICS = """<top>

<num> Number: 301
<title> honey makers

<desc> Description:
Who makes honey?
</top>
<top>
<num> Number: 302
<title> floating things
</top>
"""


@pytest.fixture
def cranfield(tmp_path: Path) -> Path:
    folder = tmp_path / "cranfield"
    folder.mkdir()
    (folder / "cran.all.1400").write_text(SMART_DOCUMENTS, encoding="utf-8")
    (folder / "cran.qry").write_bytes(SMART_TOPICS.encode())
    (folder / "cranqrel").write_text(CODES, encoding="utf-8")
    return folder


@pytest.fixture
def trec(tmp_path: Path) -> Path:
    folder = tmp_path / "news"
    folder.mkdir()
    (folder / "documents.sgml").write_text(TREC_DOCUMENTS, encoding="utf-8")
    (folder / "topics.301-302").write_text(TREC_TOPICS, encoding="utf-8")
    (folder / "qrels.txt").write_text("301 0 AB-1 2\n302 0 AB-2 1\n301 0 AB-2 0\n", "utf-8")
    return folder


def test_cranfield_with_its_faults(cranfield: Path):
    corpus = load_trec(cranfield)
    assert [(entry.id, entry.content) for entry in corpus.entries] == [
        ("1", "on bees bees make honey ."),
        ("3", "on boats boats float . .W they do ."),
    ]
    assert [(query.query_id, query.text) for query in corpus.queries] == [
        ("1", "who makes honey ."),
        ("2", "what floats ."),
    ]
    assert corpus.qrels.to_dict("list") == {
        "query_id": ["1", "1", "2"],
        "doc_id": ["1", "3", "3"],
        "relevance": [1, 0, 1],
    }
    assert corpus.card.faults == {
        CHECKSUM_FAULT: 1,
        "document without text, left out": 1,
        "query number that is not the qrels', replaced by its ordinal": 1,
        "judgement below 0, read as not relevant": 1,
        "judgement of a document without text": 1,
    }
    graded = load_trec(cranfield, graded=True)
    assert graded.qrels["relevance"].tolist() == [4, 0, 1]


def test_there_is_no_time_in_it(cranfield: Path):
    corpus = load_trec(cranfield)
    assert {entry.created_at for entry in corpus.entries} == {query.now for query in corpus.queries}


def test_trec_records(trec: Path):
    corpus = load_trec(trec, graded=True)
    assert [(entry.id, entry.content) for entry in corpus.entries] == [
        ("AB-1", "Bees & honey Bees make honey ."),
        ("AB-2", "Boats float."),
    ]
    assert [(query.query_id, query.text) for query in corpus.queries] == [
        ("301", "honey makers"),
        ("302", "floating things"),
    ]
    assert corpus.qrels["relevance"].tolist() == [2, 1, 0]
    assert load_trec(trec).qrels["relevance"].tolist() == [1, 1, 0]


def test_tabbed_lines_and_named_files(trec: Path):
    (trec / "d.tsv").write_text("AB-1\tBees make honey\nAB-2\tBoats\n", encoding="utf-8")
    (trec / "t.tsv").write_text("301\twho?\n302\twhat?\n", encoding="utf-8")
    corpus = load_trec(trec, documents="d.tsv", topics="t.tsv", qrels="qrels.txt")
    assert [entry.content for entry in corpus.entries] == ["Bees make honey", "Boats"]
    assert [query.text for query in corpus.queries] == ["who?", "what?"]


def test_xml_topics(trec: Path):
    (trec / "topics.301-302").write_text(
        "<?xml version='1.0'?>\n<topics><top><num>301</num><title>a &lt; b</title></top>"
        "<top><num>302</num><desc>what floats</desc></top></topics>",
        encoding="utf-8",
    )
    assert [query.text for query in load_trec(trec).queries] == ["a < b", "what floats"]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("documents.sgml", TREC_DOCUMENTS[:-8], "line 8: <DOC> is not closed"),
        ("documents.sgml", "<DOC><TEXT>x</TEXT></DOC>", "line 1: <DOC> has no <DOCNO>"),
        ("documents.sgml", "just prose", "line 1: expected a record"),
        ("documents.sgml", "1\tok\nno tab", "line 2: expected id, tab, text"),
        ("documents.sgml", "AB-1\tx\nAB-1\ty", "line 2: the document id 'AB-1' repeats"),
        ("documents.sgml", ".I 1\n.T\nonly a title\n", "line 1: record 1 has no .W field"),
        ("documents.sgml", ".I 1\nstray\n", "line 2: text outside a field"),
        ("topics.301-302", "301\ta\n301\tb", "line 2: the topic '301' repeats"),
        ("topics.301-302", "<topics></topics>", "holds no <top> record"),
        ("qrels.txt", "301 0 AB-1 1\n302 0 AB-2\n", "qrels.txt: line 2: expected topic"),
        ("qrels.txt", "301 AB-1\n", "qrels.txt: line 1: expected topic"),
        ("qrels.txt", "301 0 AB-1 high\n", "line 1: expected a whole number"),
        ("qrels.txt", "301 0 AB-1 1\n302 0 XY-2 1\n", "1 of 2 judgements name a query or doc"),
    ],
)
def test_damage_is_named_with_its_place(trec: Path, name: str, content: str, problem: str):
    (trec / name).write_text(content, encoding="utf-8")
    with pytest.raises(CorpusError, match=problem):
        load_trec(trec)


def test_missing_files(trec: Path):
    (trec / "qrels.old").write_text("301 0 AB-1 1\n", encoding="utf-8")
    with pytest.raises(InvalidParameter, match=r"\(qrels.old, qrels.txt\): name one, qrels="):
        load_trec(trec)
    with pytest.raises(CorpusFileMissing, match=r"holds no nothing\.txt"):
        load_trec(trec, qrels="nothing.txt")
    with pytest.raises(CorpusFileMissing, match="path= names a folder"):
        load_trec(trec / "qrels.txt")
    (trec / "documents.sgml").unlink()
    with pytest.raises(CorpusFileMissing, match="no file called documents or docs"):
        load_trec(trec)
    with pytest.raises(CorpusFileMissing, match="Get the folder cranfield"):
        load_trec()


@pytest.mark.corpus
@pytest.mark.usefixtures("data")
class TestPublished:
    def test_counts(self):
        corpus = load_corpus("trec")
        assert len(corpus.entries) == 1_398
        assert len(corpus.queries) == 225
        assert {"471", "995"}.isdisjoint(entry.id for entry in corpus.entries)
        assert corpus.card.faults == {
            "document without text, left out": 2,
            "query number that is not the qrels', replaced by its ordinal": 223,
            "judgement below 0, read as not relevant": 225,
            "judgement of a document without text": 1,
        }

    def test_the_measured_text_row(self, fts5_row):
        # The reference keeps the two empty documents, which cannot be entries.
        assert fts5_row(load_corpus("trec"))["nDCG@10"] == pytest.approx(0.3772, abs=5e-4)
