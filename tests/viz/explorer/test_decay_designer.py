from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import nousmem as nm
from nousmem.errors import InvalidParameter
from nousmem.viz import DecayDesigner
from nousmem.viz.explorer._decay_year import (
    DAYS,
    Memories,
    bands_of,
    shares_of,
    shares_over_a_year,
    tenths,
)

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)
MONTH = nm.Scoring(half_life_days=30)


def test_a_year_of_one_memory() -> None:
    shares = shares_over_a_year(MONTH, access_days=0, importance=0.5)
    expected = 0.5 ** (DAYS / 30)
    assert shares == pytest.approx(expected, rel=1e-9)
    assert shares_over_a_year(MONTH, access_days=0, importance=0.5, evergreen=True).min() == 1


def test_access_starts_the_age_again() -> None:
    weekly = shares_over_a_year(MONTH, access_days=7, importance=0.5)
    assert weekly.min() == pytest.approx(0.5 ** (6.5 / 30))
    assert weekly[DAYS == 7] == 1
    created = MONTH.replace(decay_clock="creation")
    never = shares_over_a_year(MONTH, access_days=0, importance=0.5)
    assert shares_over_a_year(created, access_days=7, importance=0.5) == pytest.approx(never)


def test_floor_and_importance_count() -> None:
    floor = MONTH.replace(decay_floor=0.2)
    assert shares_over_a_year(floor, access_days=0, importance=0.5)[-1] > 0.2
    slowed = MONTH.replace(decay_importance=1)
    assert shares_over_a_year(slowed, access_days=0, importance=1)[-1] == 1


def test_a_corpus_is_read_at_its_own_now(corpus: nm.Corpus) -> None:
    memories = Memories.of(corpus)
    assert len(memories) == len(corpus.entries)
    assert memories.evergreen.sum() == 1
    assert memories.since_creation.max() == 24 * 9 * 38
    early = Memories.of(corpus, now=NOW - timedelta(days=100))
    assert 0 < len(early) < len(memories)
    assert len(Memories.of(list(corpus.entries))) == len(corpus.entries)


def test_ages_are_read_as_hours() -> None:
    shares = shares_of(Memories.of([0.0, 720.0, 1440.0]), MONTH)
    assert shares == pytest.approx([1, 0.5, 0.25])
    assert len(Memories.of(None)) == 365
    assert len(Memories.of(np.ones((2, 3)))) == 6


@pytest.mark.parametrize("given", [[], [-1.0], [np.nan], ["a"], 3 + 4j])
def test_what_is_no_age_is_refused(given: object) -> None:
    with pytest.raises(InvalidParameter, match=r"ages|memory"):
        Memories.of(given)


def test_bands_and_tenths_count_every_memory() -> None:
    memories = Memories.of([0, 24 * 7, 24 * 7.1, 24 * 200, 24 * 5000])
    shares = shares_of(memories, MONTH)
    bands = bands_of(memories, shares)
    assert [band.n for band in bands] == [2, 1, 0, 0, 1, 1]
    assert bands[0].mean == pytest.approx(shares[:2].mean())
    assert np.isnan(bands[2].mean)
    assert tenths(shares) == [2, 0, 0, 0, 0, 0, 0, 0, 2, 1]


def test_the_widgets_move_the_shares(corpus: nm.Corpus) -> None:
    designer = DecayDesigner(corpus, scoring=nm.Scoring(w_importance=0.1))
    designer.controls["decay_lambda"].value = "90 d"
    designer.controls["decay_floor"].value = "0.25"
    designer.controls["decay_curve"].value = "hyperbolic"
    assert designer.scoring == nm.Scoring(
        half_life_days=90, decay_floor=0.25, decay_curve="hyperbolic", w_importance=0.1
    )
    before = designer.shares
    assert before.max() == 1
    assert before == pytest.approx(shares_of(Memories.of(corpus), designer.scoring))
    designer.access.label = "once a week"
    assert (designer.shares >= before - 1e-12).all()
    assert designer.shares.min() > 0.9
    designer.access.label = "as they were accessed"
    designer.evergreen.value = False
    assert (designer.shares < before - 1e-9).sum() == 1


def test_importance_is_asked_for_where_it_matters(corpus: nm.Corpus) -> None:
    designer = DecayDesigner(corpus)
    assert designer.importance.layout.display == "none"
    designer.controls["decay_importance"].value = "0.5"
    assert designer.importance.layout.display is None


def test_what_is_shown(corpus: nm.Corpus) -> None:
    designer = DecayDesigner(corpus)
    text = designer._curve.value + designer._bars.value + designer._bands.value
    assert "half-life 28.9 d" in text
    assert re.search(rf"Of {len(corpus.entries)}, \d+ keeps? less than a tenth", text)
    assert "1 are evergreen" in text
    designer.controls["decay_lambda"].value = "off"
    assert "here: no decay" in designer._curve.value
    designer.code.value = True
    assert "decay_lambda=0.0" in designer._python.value


def test_memories_of_a_store_or_a_corpus_by_name(corpus: nm.Corpus, store: nm.Store) -> None:
    assert len(DecayDesigner(store).shares) == len(corpus.entries)
    assert len(DecayDesigner("assistant-year").shares) > 1000
    with pytest.raises(InvalidParameter, match="store has no entries"):
        DecayDesigner(nm.open_store("memory:"))
    with pytest.raises(InvalidParameter, match="expected a Corpus or the name of one"):
        DecayDesigner(object())


def test_the_baseline_is_seen_where_it_is_the_same() -> None:
    drawn = DecayDesigner()._curve.value
    lines = re.findall(r"<path d='M[^']*' fill='none' ([^/]*)/>", drawn)
    assert "dasharray" not in lines[0]
    assert "dasharray" in lines[1]  # drawn later, so above


def test_a_long_half_life_is_named_inside_the_chart() -> None:
    drawn = DecayDesigner(scoring=nm.Scoring(half_life_days=340))._curve.value
    place, anchor = re.search(r"x='([\d.]+)' text-anchor='(\w+)'[^>]*>half-life", drawn).groups()
    assert anchor == "end"
    assert float(place) < 540
