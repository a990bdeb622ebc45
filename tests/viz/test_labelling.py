"""The labelling table, worked as a script would: values set, buttons clicked."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import ipywidgets
import pandas as pd
import pytest

from nousmem.errors import CorpusError, InvalidParameter, MissingDependency
from nousmem.evaluation.judging.judgement_file import JudgementFile
from nousmem.viz._labelling import LabellingTable

NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)
POOL = pd.DataFrame(
    {
        "query_id": ["q1", "q1", "q1", "q2", "q2"],
        "text": ["what <b>now</b>?"] * 3 + ["two?"] * 2,
        "as_of": [NOON] * 3 + [pd.NaT] * 2,
        "doc_id": ["a", "b", "c", "a", "d"],
        "content": ["Tea & bees", "<script>alert(1)</script>", "third", "Tea & bees", "fourth"],
        "created_at": NOON,
        "pool": "text+vector@9",
        "text_rank": pd.Series([7, None, 1, 2, 1], dtype="Int64"),
        "vector_rank": pd.Series([None, 3, 1, 2, 1], dtype="Int64"),
    }
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "qrels.tsv"


@pytest.fixture
def table(path: Path) -> LabellingTable:
    return LabellingTable(POOL, path, clock=lambda: NOON)


def written(path: Path) -> dict[tuple[str, str], int]:
    return {pair: one.relevance for pair, one in JudgementFile(path).read().items()}


def descendants(widget: ipywidgets.Widget) -> list[ipywidgets.Widget]:
    inner = [one for child in getattr(widget, "children", ()) for one in descendants(child)]
    return [widget, *inner]


def shown(table: LabellingTable) -> str:
    """Return everything that can be read in the table, hidden rows left out."""
    hidden = {
        id(inner)
        for one in descendants(table.widget)
        if one.layout.display == "none"
        for inner in descendants(one)
    }
    visible = [one for one in descendants(table.widget) if id(one) not in hidden]
    return "\n".join(one.value for one in visible if isinstance(one, ipywidgets.HTML))


def test_buttons(table: LabellingTable, path: Path) -> None:
    table.buttons["2"].click()
    assert written(path) == {("q1", "a"): 2}
    table.buttons["s"].click()
    table.buttons["0"].click()
    assert written(path) == {("q1", "a"): 2, ("q1", "c"): 0}
    assert table.session.current.query_id == "q2"
    table.buttons["1"].click()
    table.buttons["u"].click()
    assert ("q2", "a") not in written(path)
    table.buttons["k"].click()
    assert table.session.current.doc_id == "c"
    table.buttons["j"].click()
    assert table.session.current.query_id == "q2"


def test_typed_keys(table: LabellingTable, path: Path) -> None:
    table.keys.value = "2"
    assert table.keys.value == ""
    table.keys.value = "2"
    table.keys.value = "0 r n"
    assert written(path) == {
        ("q1", "a"): 2,
        ("q1", "b"): 2,
        ("q1", "c"): 0,
        ("q2", "a"): 2,
        ("q2", "d"): 0,
    }
    assert "Nothing is left to judge" in shown(table)


def test_a_wrong_key_is_said_and_obeyed_by_nobody(table: LabellingTable, path: Path) -> None:
    table.keys.value = "2x"
    assert "no key &#x27;x&#x27;" in shown(table)
    assert not path.exists()
    table.keys.value = "2"
    assert "no key" not in shown(table)


def test_a_file_that_cannot_be_written_is_said(
    table: LabellingTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise CorpusError("cannot write qrels.tsv: disk full")

    monkeypatch.setattr(JudgementFile, "put", refuse)
    table.buttons["2"].click()
    assert "disk full" in shown(table)
    assert table.session.current.doc_id == "a"


def test_it_goes_on_where_the_last_one_ended(table: LabellingTable, path: Path) -> None:
    table.keys.value = "2000"
    again = LabellingTable(POOL, path, clock=lambda: NOON)
    assert again.session.current.pair == ("q2", "d")
    assert "4 of 5 judged" in shown(again)
    assert "1 of 2 queries done" in shown(again)
    assert again.query.value == "q2"


def test_one_query_at_a_time(table: LabellingTable) -> None:
    assert "third" in shown(table)
    assert "fourth" not in shown(table)
    table.query.value = "q2"
    assert table.session.current.pair == ("q2", "a")
    assert "fourth" in shown(table)
    assert "third" not in shown(table)
    table.numbers[1].click()
    assert table.session.current.pair == ("q2", "d")
    assert [number.button_style for number in table.numbers[:2]] == ["", "primary"]


def test_the_choice_of_queries_says_what_is_done(table: LabellingTable) -> None:
    assert [label for label, _ in table.query.options] == [
        "0/3  q1: what <b>now</b>?",
        "0/2  q2: two?",
    ]
    table.keys.value = "21"
    assert table.query.options[0][0].startswith("2/3")
    assert table.query.value == "q1"


def test_memories_are_text_not_markup(table: LabellingTable) -> None:
    assert "<script>" not in shown(table)
    assert "&lt;script&gt;alert(1)" in shown(table)
    assert "what &lt;b&gt;now" in shown(table)
    assert "Tea &amp; bees" in shown(table)
    assert "asked 2026-03-15 12:00 UTC" in shown(table)


def test_ranks_are_hidden_from_the_judge(path: Path) -> None:
    ranks = pd.Series([7777] * len(POOL), dtype="Int64")
    table = LabellingTable(POOL.assign(text_rank=ranks, vector_rank=ranks), path)
    assert "7777" not in shown(table)


def test_everything_can_be_focused(table: LabellingTable) -> None:
    controls = [table.query, table.keys, *table.buttons.values(), *table.numbers]
    inside = descendants(table.widget)
    assert all(control in inside for control in controls)
    assert not any(control.disabled for control in controls)
    assert all(getattr(control, "tabbable", None) is not False for control in controls)
    assert not table.keys.continuous_update
    assert all(control.description for control in controls)


def test_judging_makes_no_more_widgets(table: LabellingTable) -> None:
    before = set(map(id, descendants(table.widget)))
    table.keys.value = "2 1 0 u s"
    assert set(map(id, descendants(table.widget))) == before


def test_an_empty_pool(path: Path) -> None:
    table = LabellingTable(POOL[:0], path)
    assert "Nothing is left to judge" in shown(table)
    table.buttons["2"].click()
    table.keys.value = "u"
    assert not path.exists()


def test_what_is_refused(path: Path) -> None:
    with pytest.raises(InvalidParameter, match="content"):
        LabellingTable(POOL.drop(columns="content"), path)
    path.write_text("something else")
    with pytest.raises(CorpusError, match="name another one"):
        LabellingTable(POOL, path)


def test_it_is_displayed_as_its_widget(table: LabellingTable, monkeypatch) -> None:
    displayed = []
    monkeypatch.setattr("IPython.display.display", displayed.append)
    table._ipython_display_()
    assert displayed[0] is table.widget


def test_without_ipywidgets(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(MissingDependency, match=r"nousmem\[notebooks\]"):
        LabellingTable(POOL, path)


def test_importing_it_does_not_load_ipywidgets() -> None:
    code = "import sys, nousmem.viz._labelling; sys.exit('ipywidgets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
