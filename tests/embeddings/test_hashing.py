import subprocess
import sys

import numpy as np
import pytest

from nousmem.embeddings import HashingEmbedder
from nousmem.errors import InvalidParameter
from nousmem.testing._embedder_conformance import EmbedderConformance

GOLDEN = [
    -0.197003,
    -0.4925075,
    -0.1657793,
    0.2462538,
    -0.030898,
    -0.0117544,
    0.2344993,
    -0.7579048,
]


class TestContract(EmbedderConformance):
    def make_embedder(self):
        return HashingEmbedder()


class TestTinyDimensionContract(EmbedderConformance):
    """So few places that features cancel each other all the time."""

    def make_embedder(self):
        return HashingEmbedder(2)

    test_query_finds_its_document = None
    test_texts_differ = None


def cosine(first, second, dimension=256):
    rows = HashingEmbedder(dimension).embed_documents([first, second])
    return float(rows[0] @ rows[1])


def test_vectors_have_length_one():
    rows = HashingEmbedder().embed_documents(["a memory", "!!!", "", "茶", "🎉"])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_the_same_numbers_everywhere():
    # Written down once: another machine, version or process must give the same.
    row = HashingEmbedder(8).embed_documents(["Nadia moved to Lisbon"])[0]
    np.testing.assert_allclose(row, GOLDEN, atol=1e-6)


@pytest.mark.parametrize("seed", ["0", "12345"])
def test_the_seed_of_the_built_in_hash_does_not_matter(seed):
    code = (
        "from nousmem.embeddings._hashing import HashingEmbedder;"
        "print(HashingEmbedder(64).embed_documents(['Nadia moved to Lisbon']).tobytes().hex())"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert out == HashingEmbedder(64).embed_documents(["Nadia moved to Lisbon"]).tobytes().hex()


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("dark mode preferences", "Olu prefers dark mode", "Olu likes jazz"),
        ("deployment process", "how we deploy: run the deployer", "the colour of green tea"),
        ("Where does Ana live?", "Ana lives in Porto", "Where does the train stop?"),
        ("我喜欢喝咖啡", "她喜欢喝茶", "今天下雨"),
        ("カフェで会う", "カフェは閉店", "電車が遅い"),
        ("le café est fermé", "LE CAFE\u0301 EST FERME\u0301", "le train est parti"),
    ],
)
def test_shared_words_bring_texts_near(text, near, far):
    assert cosine(text, near) > cosine(text, far) + 0.1


def test_case_and_unicode_form_do_not_matter():
    assert cosine("Ｃａｆé au lait", "CAFE\u0301 AU LAIT") == pytest.approx(1, abs=1e-6)


def test_unrelated_texts_are_nearly_orthogonal():
    assert abs(cosine("purple elephants dance", "quarterly tax forms", 1024)) < 0.15


def test_repeating_a_word_counts_less_and_less():
    # One word n times beside another: the share grows with sqrt(n), not with n.
    four = cosine("apple " * 4 + "river", "apple", 4096)
    weights = np.array([2.0, 1.0])
    assert four == pytest.approx(weights[0] / np.linalg.norm(weights), abs=0.05)


def test_frequent_words_weigh_little():
    assert cosine("what is the price of it", "what is the name of it") < 0.5


@pytest.mark.parametrize("dimension", [0, 1, -3, 2.5, True, "256"])
def test_a_dimension_that_is_none(dimension):
    with pytest.raises(InvalidParameter, match="dimension must be a whole number"):
        HashingEmbedder(dimension)


def test_the_fingerprint_tells_dimensions_apart():
    assert HashingEmbedder(64).fingerprint != HashingEmbedder(128).fingerprint


@pytest.mark.parametrize("texts", ["one text", [1, 2], [None]])
def test_what_is_not_a_list_of_texts(texts):
    with pytest.raises(InvalidParameter, match="list of texts"):
        HashingEmbedder().embed_documents(texts)
