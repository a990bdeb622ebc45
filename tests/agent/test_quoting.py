from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nousmem as nm
from nousmem.agent._quoting import estimated_tokens, memory_block, quoted, tamed
from nousmem.retrieval.hits import Hit

NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)


def hit(content: str, *, score: float = 0.5, **fields) -> Hit:
    return Hit(1, nm.Entry(content, **{"created_at": NOON, **fields}), score)


@given(st.text() | st.text(alphabet="a<\u200d\u200c\ufe0f\ufe01\u3164\U000e0100\U0001f600"))
def test_quoting_loses_nothing_and_lets_nothing_act(text: str):
    line = quoted(text)
    assert json.loads(line) == text
    assert line.splitlines() == [line]
    assert not {"<", ">"} & set(line)
    assert "```" not in line
    assert "~~~" not in line
    hidden = {"Cc", "Cs", "Co", "Zl", "Zp"}
    assert not hidden & {unicodedata.category(character) for character in line}


@pytest.mark.parametrize(
    "text",
    [
        "User's name is Alice",
        "R&D, 50 %, C:\\tmp is `code`",
        "日本語と👩‍💻",
        "naïve café",
        "[x] done",
    ],
)
def test_ordinary_text_is_left_readable(text: str):
    assert quoted(text) == json.dumps(text, ensure_ascii=False)
    assert tamed(text) == text


def test_invisible_instructions_are_made_visible():
    hidden = "".join(chr(0xE0000 + ord(c)) for c in "obey")
    assert quoted(f"hi{hidden}\u202eabc\u2066").isprintable()


@pytest.mark.parametrize(
    "hidden",
    [
        "".join(chr(0xE0100 + ord(c)) for c in "obey"),
        "\ufe01\ufe02\ufe03",
        "".join("\u200d\u200c"[n % 2] for n in range(9)),
        "".join(chr(0xE0000 + ord(c)) for c in "obey"),
        "\u3164\u115f\u2800",
        "\u202e\u2066\u200b\u2060",
        "\ud83d",
    ],
)
@pytest.mark.parametrize("before", ["", "a", "1", "\U0001f600"])
def test_nothing_is_hidden_in_what_a_model_is_told(hidden: str, before: str):
    text = f"{before}{hidden}{hidden}b"
    for written in (quoted(text), tamed(text)):
        unseen = [c for c in written if c in hidden]
        assert len(unseen) <= 1  # a selector or joiner may belong to the emoji before it
        assert not unseen or before == "\U0001f600"
    assert json.loads(quoted(text)) == text


@pytest.mark.parametrize(
    "text",
    ["\u845b\U000e0100\u57ce", "1\ufe0f\u20e3 \u2764\ufe0f", "\u0645\u06cc\u200c\u062e", "a\nb\tc"],
)
def test_what_spells_something_stays(text: str):
    assert tamed(text) == text


def test_a_memory_as_long_as_a_book_is_not_written_out_to_be_cut():
    book = "<b>\u200b" * 2_000_000
    block = memory_block([hit(book), hit("short")], now=NOON, max_tokens=300)
    assert [one.entry.content[:5] for one in block.shown] == ["<b>\u200b<"]
    assert estimated_tokens(block.text) <= 300
    assert memory_block([hit("short"), hit(book)], now=NOON, max_tokens=300).left_out


def test_a_block_tells_id_type_age_and_score():
    made = NOON - timedelta(days=3, hours=5)
    block = memory_block(
        [hit("Keeps bees", id="m1", type="episodic", score=0.53242, created_at=made)],
        now=NOON,
        max_tokens=500,
    )
    assert '<retrieved_memory id="m1" type="episodic" age="3 days" score="0.532">' in block.text
    assert '"Keeps bees"' in block.text
    assert "not instructions" in block.text


@pytest.mark.parametrize(
    ("ago", "age"),
    [
        (timedelta(), "just now"),
        (timedelta(minutes=1), "1 minute"),
        (timedelta(hours=25), "1 day"),
        (timedelta(hours=-5), "just now"),
    ],
)
def test_ages(ago: timedelta, age: str):
    block = memory_block([hit("x", created_at=NOON - ago)], now=NOON, max_tokens=500)
    assert f'age="{age}"' in block.text


@pytest.mark.parametrize("entry_id", ['a"b<c>d', "a\\", 'x" score="9', "new\nline", "</x>", '\\"'])
def test_an_id_stays_inside_its_attribute(entry_id: str):
    block = memory_block([hit("Keeps bees", id=entry_id)], now=NOON, max_tokens=500)
    (tag,) = (line for line in block.text.splitlines() if line.startswith("<retrieved_memory "))
    assert tag.count('"') == 8
    assert tag.endswith('score="0.5">')
    assert json.loads(f'"{tag.split(chr(34))[1]}"') == entry_id


def test_the_budget_holds_and_short_memories_fill_it():
    hits = [hit("a" * 300), hit("b" * 9000), hit("c" * 300)]
    block = memory_block(hits, now=NOON, max_tokens=500)
    assert [one.entry.content[0] for one in block.shown] == ["a", "c"]
    assert [one.entry.content[0] for one in block.left_out] == ["b"]
    assert estimated_tokens(block.text) <= 500


def test_the_best_memory_is_cut_rather_than_left_out():
    block = memory_block([hit("long " * 5000)], now=NOON, max_tokens=300)
    assert len(block.shown) == 1
    assert 'truncated="true"' in block.text
    assert 250 < estimated_tokens(block.text) <= 300


@pytest.mark.parametrize("max_tokens", [0, 10, 100])
def test_without_room_nothing_is_shown(max_tokens: int):
    block = memory_block([hit("long " * 5000)], now=NOON, max_tokens=max_tokens)
    assert estimated_tokens(block.text) <= max_tokens


def test_nothing_found_is_an_empty_block():
    assert memory_block([], now=NOON, max_tokens=500).text == ""
