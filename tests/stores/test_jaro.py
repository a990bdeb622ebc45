import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Jaro
from rapidfuzz.process import cdist

from nousmem.stores._jaro import fold, jaro, nearest

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "golden" / "jaro.json").read_text(encoding="utf-8")
)
# Devanagari conjuncts are cut differently since Unicode 15.1, so these six pairs of the reference
# (Unicode 14) are not asserted.
PAIRS = [pair for pair in GOLDEN["pairs"] if not pair["gb9c_sensitive"]]

# Few letters, so that matches and transpositions abound; and everything that clusters.
CHARACTERS = [
    *"aabbccd e",
    *"éeΣσ",
    *"\u0301\u0308\u200d\r\n\ufe0f",
    *"👩👧🇩🇪🏽",
    *"한\u1100\u1161\u11a8",
    *"कி\u093f\u094d\u0e33",
]
TEXTS = st.lists(st.sampled_from(CHARACTERS), max_size=24).map("".join)
LETTERS = st.text("abcde ", max_size=40)


def written_out(a: list[str], b: list[str]) -> float:
    """Jaro with loops over positions, as the definition reads."""
    if a == b:
        return 1.0
    window = max(len(a), len(b)) // 2
    taken = [False] * len(b)
    matched_a: list[str] = []
    for i, char in enumerate(a):
        for j, other in enumerate(b):
            if abs(i - j) < window and not taken[j] and char == other:
                taken[j] = True
                matched_a.append(char)
                break
    m = len(matched_a)
    if m == 0:
        return 0.0
    matched_b = [char for j, char in enumerate(b) if taken[j]]
    t = sum(x != y for x, y in zip(matched_a, matched_b, strict=True))
    return (m / len(a) + m / len(b) + (m - t / 2) / m) / 3


def clusters(text: str) -> list[str]:
    return regex.findall(r"\X", text)


def test_the_golden_file_is_all_there():
    assert len(GOLDEN["pairs"]) == 780
    assert len(PAIRS) == 774
    assert len(GOLDEN["downcase"]) == 46


def test_golden_pairs_are_bit_identical():
    wrong = [
        (a, b, expected, value)
        for pair in PAIRS
        for a, b, expected in [
            (pair["a"], pair["b"], pair["jaro"]),
            (pair["b"], pair["a"], pair["jaro_swapped"]),
            (pair["a_downcase"], pair["b_downcase"], pair["jaro_downcased"]),
        ]
        if (value := jaro(a, b)) != expected
    ]
    assert wrong == []


def test_golden_pairs_are_bit_identical_when_ranked():
    wrong = [
        (pair["a"], pair["b"], value)
        for pair in PAIRS
        if (value := nearest(pair["a"], [fold(pair["b"])], limit=1, min_score=-1.0))
        != [(0, pair["jaro_downcased"])]
    ]
    assert wrong == []


def test_golden_lower_case():
    assert [("".join(fold(row["s"])), len(fold(row["s"]))) for row in GOLDEN["downcase"]] == [
        (row["downcase"], len(clusters(row["downcase"]))) for row in GOLDEN["downcase"]
    ]


def test_a_final_sigma_is_a_sigma():
    assert fold("ΟΔΟΣ ΣΑΣ") == "οδοσ σασ"


def test_text_of_single_code_points_stays_a_string():
    assert fold("Müller 用户 😀\n") == "müller 用户 😀\n"
    assert fold("e\u0301a") == ("e\u0301", "a")
    assert fold("a\r\nb") == ("a", "\r\n", "b")


@pytest.mark.parametrize(
    ("a", "b", "value"),
    [
        ("", "", 1.0),
        ("", "a", 0.0),
        ("a", "a", 1.0),
        ("a", "b", 0.0),
        ("ab", "ba", 0.0),
        ("abc", "abd", (2 / 3 + 2 / 3 + 1) / 3),
        ("é", "e\u0301", 0.0),
        ("martha", "marhta", (1 + 1 + 5 / 6) / 3),
        ("abcxyz", "bcaxyz", (1 + 1 + 4.5 / 6) / 3),
    ],
)
def test_values_known_by_hand(a: str, b: str, value: float):
    assert jaro(a, b) == value
    assert jaro(b, a) == value


@given(TEXTS)
def test_characters_are_grapheme_clusters(text: str):
    assert list(fold(text)) == clusters("".join(char.lower() for char in text))


def test_no_code_point_joins_its_neighbours_unnoticed():
    text = "".join(f"a{chr(code)}" for code in range(0x110000)).lower()
    joined = [cluster for cluster in clusters(text) if len(cluster) > 1]
    assert len(joined) > 2000
    assert [cluster for cluster in joined if fold(cluster) != (cluster,)] == []


@pytest.mark.parametrize("text", ["🇩🇪", "\u1100\u1161", "가\u11a8", "\r\n"])
def test_characters_that_join_only_each_other_are_noticed(text: str):
    assert fold(text) == (text,)


@given(TEXTS, TEXTS)
def test_equals_the_definition_written_out(a: str, b: str):
    assert jaro(a, b) == written_out(clusters(a), clusters(b))


@given(TEXTS, TEXTS)
def test_is_symmetric_and_from_0_to_1(a: str, b: str):
    assert jaro(a, b) == jaro(b, a)
    assert 0.0 <= jaro(a, b) <= 1.0
    assert jaro(a, a) == 1.0


@given(st.one_of(TEXTS, LETTERS), st.lists(st.one_of(TEXTS, LETTERS), min_size=1, max_size=8))
def test_rapidfuzz_is_never_below_and_at_most_an_eighteenth_above(query: str, texts: list[str]):
    folded = [fold(text) for text in texts]
    bounds = cdist([fold(query)], folded, scorer=Jaro.similarity, dtype=np.float64)[0]
    for bound, text in zip(bounds, folded, strict=True):
        exact = written_out(list(fold(query)), list(text))
        if query or text:
            assert exact - 1e-12 <= bound <= exact + 1 / 18 + 1e-12


@settings(max_examples=150)
@given(
    query=st.one_of(TEXTS, LETTERS),
    texts=st.lists(st.one_of(TEXTS, LETTERS), max_size=40),
    limit=st.integers(0, 12),
    min_score=st.sampled_from([-1.0, 0.0, 0.3, 0.5, 5 / 9, 0.7, 1.0]),
)
def test_ranking_equals_comparing_with_every_text(
    query: str, texts: list[str], limit: int, min_score: float
):
    folded = [fold(text) for text in texts]
    scores = [written_out(list(fold(query)), list(text)) for text in folded]
    kept = sorted(
        ((score, i) for i, score in enumerate(scores) if score > min_score),
        key=lambda pair: (-pair[0], pair[1]),
    )
    last = kept[:limit][-1][0] if kept[:limit] else float("inf")
    expected = [(i, score) for score, i in kept if score >= last]
    assert nearest(query, folded, limit=limit, min_score=min_score) == expected


def test_all_that_tie_with_the_last_are_returned():
    contents = [fold(text) for text in ["tea", "coffee", "TEA", "ten", "tea"]]
    assert nearest("Tea", contents, limit=1) == [(0, 1.0), (2, 1.0), (4, 1.0)]
    assert [i for i, _ in nearest("Tea", contents, limit=4)] == [0, 2, 4, 3]


def test_min_score_is_exceeded_never_met():
    contents = [fold("abd"), fold("abc")]
    assert nearest("abc", contents, limit=5, min_score=jaro("abc", "abd")) == [(1, 1.0)]
    assert nearest("xyz", contents, limit=5) == []
    assert nearest("xyz", contents, limit=5, min_score=-0.5) == [(0, 0.0), (1, 0.0)]


def test_nothing_asked_or_nothing_there():
    assert nearest("a", [], limit=5) == []
    assert nearest("a", [fold("a")], limit=0) == []
