import sqlite3
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from nousmem.stores.text import MAX_TERM, analyse_document, analyse_query

TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)


def found(query: str, document: str) -> bool:
    """Whether every term of the query is a term of the document."""
    terms = analyse_query(query)
    return bool(terms) and set(terms) <= set(analyse_document(document))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("AC/DC vol. 2", ["ac", "dc", "vol", "2"]),
        ("C++", ["c"]),
        ("don't", ["don", "t"]),
        ('"unbalanced', ["unbalanc"]),
        ("NEAR(a b)", ["near", "a", "b"]),
        ("title: x* OR y^2 -z", ["titl", "x", "or", "y", "2", "z"]),
        ("snake_case v1.2", ["snake", "case", "v1", "2"]),
        ("❤️ 1️⃣ 👩‍👩‍👧 ok", ["1", "ok"]),
        ("x² ½ ①", ["x2", "1", "2", "1"]),
        ("பயனர் இருண்ட பயன்முறை", ["பயனர்", "இருண்ட", "பயன்முறை"]),
        ("उपयोगकर्ता डार्क मोड", ["उपयोगकर्ता", "डार्क", "मोड"]),
        ("co\u00adoperate", ["cooper"]),
        ("می\u200cخواهم", ["میخواهم"]),
        ("", []),
        (" \n\t", []),
        ("… — !? 🎉", []),
        ("\ud800 lone", ["lone"]),
    ],
)
def test_words_are_the_same_on_both_sides(text: str, terms: list[str]):
    assert analyse_document(text) == terms
    assert analyse_query(text) == terms


@pytest.mark.parametrize(
    ("text", "looked_up", "single"),
    [
        ("用户喜欢混合检索", ["用户", "户喜", "喜欢", "欢混", "混合", "合检", "检索"], "喜"),
        ("モード", ["モー", "ード"], "モ"),
        ("ダークモードが好き。", None, "好"),
        ("사용자는 다크", ["사용", "용자", "자는", "다크"], "용"),
        ("ไทยดี", None, "ท"),
        ("ລາວ", None, "ລ"),
        ("ខ្មែរ", None, "រ"),
        ("မြန်မာ", None, "မ"),
        ("mixed用户abc猫", ["mix", "用户", "abc", "猫"], "户"),
    ],
)
def test_text_without_spaces_becomes_pairs(text: str, looked_up: list[str] | None, single: str):
    query, document = analyse_query(text), analyse_document(text)
    if looked_up is not None:
        assert query == looked_up
    assert len(query) > 1
    assert all(len(term) <= 2 for term in query if not term.isascii())
    assert set(query) <= set(document)
    assert single in document
    assert single not in query
    assert analyse_query(single) == [single]


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("deploy", "the deployment of 3 services"),
        ("deploying", "he deploys on Fridays"),
        ("zurich", "Zürich"),
        ("ZÜRICH", "lives in zu\u0308rich"),
        ("istanbul", "İSTANBUL"),
        ("strasse", "die STRAẞE, die Straße"),
        ("οδος", "ΟΔΌΣ"),
        ("елка", "Ёлка"),
        ("ﬁne ＡＢＣ", "fine abc"),
        ("ガギ", "ｶﾞｷﾞ"),
        ("混合检索", "用户喜欢混合检索。"),
        ("ශ්‍රී", "ශ්රී ලංකා"),
        ("क\u093cलम", "\u0958लम"),
    ],
)
def test_finds(query: str, document: str):
    assert found(query, document)


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("检混", "用户喜欢混合检索"),
        ("கா", "கி"),
        ("की", "का"),
        ("cat", "category"),
        ("", "anything"),
    ],
)
def test_does_not_find(query: str, document: str):
    assert not found(query, document)


def test_long_words_are_cut_alike_on_both_sides():
    key = "q" * 5000
    assert [len(term) for term in analyse_document(key + " é" + key)] == [MAX_TERM, MAX_TERM]
    assert found(key, key)


def test_repeated_words_are_repeated_terms():
    assert analyse_document("Tea, tea and teas") == ["tea", "tea", "and", "tea"]


@given(TEXTS)
def test_terms_are_letters_marks_and_numbers(text: str):
    for term in analyse_document(text) + analyse_query(text):
        assert 0 < len(term) <= MAX_TERM
        assert regex.fullmatch(r"[\p{L}\p{M}\p{N}]+", term)
        assert not any("A" <= char <= "Z" for char in term)


@given(TEXTS)
def test_a_document_is_found_by_its_own_text(text: str):
    assert set(analyse_query(text)) <= set(analyse_document(text))


@given(st.text(st.characters(codec="ascii"), max_size=60))
def test_the_short_way_for_ascii_gives_what_the_long_way_gives(text: str):
    assert analyse_document(text + " ж")[:-1] == analyse_document(text)


@given(TEXTS)
def test_composed_and_decomposed_text_are_one(text: str):
    forms = [analyse_document(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")]
    assert forms[0] == forms[1] == analyse_document(text)


@given(TEXTS)
def test_sqlite_keeps_every_term_whole(text: str):
    terms = analyse_document(text)
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE VIRTUAL TABLE f USING fts5(t, tokenize = 'ascii')")
        connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab(f, row)")
        connection.execute("INSERT INTO f VALUES (?)", (" ".join(terms),))
        stored = {row[0] for row in connection.execute("SELECT term FROM v")}
        assert stored == set(terms)
        for term in terms:
            hits = connection.execute("SELECT count(*) FROM f WHERE f MATCH ?", (f'"{term}"',))
            assert hits.fetchone() == (1,)
    connection.close()


def test_threads_do_not_disturb_one_another():
    texts = [f"running {n} deployments of connected services quickly" * 20 for n in range(50)]
    expected = [analyse_document(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            assert list(pool.map(analyse_document, texts)) == expected
