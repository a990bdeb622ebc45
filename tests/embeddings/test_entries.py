import numpy as np
import pytest

from nousmem.embeddings import HashingEmbedder, embed
from nousmem.entry import Entry
from nousmem.errors import EmbedderError


def test_entries_get_vector_and_fingerprint():
    embedder = HashingEmbedder(16)
    given = [Entry("dark mode", id="a", user_id="olu"), Entry("Lisbon", id="b")]
    done = embed(given, embedder)
    assert [entry.id for entry in done] == ["a", "b"]
    assert {entry.embedder for entry in done} == {embedder.fingerprint}
    np.testing.assert_array_equal(
        [entry.embedding for entry in done], embedder.embed_documents(["dark mode", "Lisbon"])
    )
    assert [entry.replace(embedding=None) for entry in done] == given
    assert [entry.embedding for entry in given] == [None, None]


def test_what_is_embedded_already_is_left_alone(counting):
    embedder = counting()
    first = embed([Entry("a"), Entry("b")], embedder)
    again = embed([*first, Entry("c")], embedder)
    assert again[0] is first[0]
    assert sorted(embedder.documents) == ["a", "b", "c"]
    assert embed(again, embedder) == again
    assert len(embedder.documents) == 3


def test_a_vector_of_another_embedder_is_replaced(counting):
    old = embed([Entry("a")], counting("old"))
    by_hand = [Entry("b", embedding=[1.0] * 8)]
    done = embed(old + by_hand, counting("new"))
    assert {entry.embedder for entry in done} == {"new"}
    np.testing.assert_array_equal(
        [entry.embedding for entry in done], counting("new").embed_documents(["a", "b"])
    )


def test_equal_contents_are_embedded_once(counting):
    embedder = counting()
    done = embed((Entry(text) for text in ["a", "b", "a", "a"]), embedder)
    assert sorted(embedder.documents) == ["a", "b"]
    assert [entry.content for entry in done] == ["a", "b", "a", "a"]
    np.testing.assert_array_equal(done[0].embedding, done[3].embedding)


def test_many_entries_of_many_lengths(counting):
    entries = [Entry(f"{'word ' * (n * 7 % 23)}{n}") for n in range(1300)]
    done = embed(entries, counting())
    expected = counting().embed_documents([entry.content for entry in entries])
    np.testing.assert_array_equal([entry.embedding for entry in done], expected)


def test_no_entries(counting):
    assert embed([], counting()) == []


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (np.ones((1, 8)), r"shape \(1, 8\) for 2 texts; expected \(2, 8\)"),
        (np.ones((2, 4)), r"shape \(2, 4\) for 2 texts; expected \(2, 8\)"),
        (np.ones(8), r"shape \(8,\)"),
        ([[1.0] * 8, [np.nan] * 8], "text 2 of 2: its vector holds NaN or infinity"),
        ([[1.0] * 8, [1e60] * 8], "text 2 of 2: its vector holds NaN or infinity"),
        ([[0.0] * 8, [1.0] * 8], "text 1 of 2: its vector is all zeros"),
        (None, r"shape \(\) for 2 texts"),
        ("vectors", "str, which is not a matrix"),
        ([[1.0] * 8, [1.0] * 7], "list, which is not a matrix"),
    ],
)
def test_what_comes_back_is_checked(counting, returned, said):
    embedder = counting("mine:1")
    embedder.embed_documents = lambda texts: returned
    with pytest.raises(EmbedderError, match=said) as caught:
        embed([Entry("a"), Entry("b")], embedder)
    assert "mine:1" in str(caught.value)


def test_tiny_and_huge_numbers_are_no_fault(counting):
    embedder = counting()
    embedder.embed_documents = lambda texts: np.array([[1e-30] * 8, [1e30] * 8])
    assert len(embed([Entry("a"), Entry("b")], embedder)) == 2


def test_no_bar_unless_asked_for_and_on_a_terminal(counting, capsys, monkeypatch):
    embed([Entry("a")], counting())
    embed([Entry("a")], counting(), progress=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    embed([Entry("a")], counting())
    assert capsys.readouterr().err == ""
    embed([Entry("a")], counting(), progress=True)
    assert "1/1" in capsys.readouterr().err
