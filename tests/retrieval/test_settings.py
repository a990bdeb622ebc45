"""Settings as a value that travels: files, presets, changes, and what is refused."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nousmem as nm
from nousmem.retrieval.settings import INJECTION_OPTIONS, chosen_settings, read_settings
from nousmem.scoring import CHOICES

SETTINGS = st.builds(
    nm.Settings,
    retrieval=st.builds(
        nm.Retrieval,
        legs=st.sampled_from([None, ("text",), ("vector",), ("text", "vector")]),
        depth=st.none() | st.integers(1, 10**6),
    ),
    scoring=st.builds(
        nm.Scoring,
        decay_lambda=st.floats(0, 1e300),
        w_relevance=st.floats(-1e300, 1e300),
        w_importance=st.floats(-100, 100),
        w_recency=st.none() | st.floats(-100, 100),
        recency_lambda=st.floats(0, 1e-300),
        rrf_k=st.floats(0, 1e4),
        fusion=st.sampled_from(CHOICES["fusion"]),
        w_text=st.floats(1e-3, 10),
        w_vector=st.floats(1e-3, 10),
        decay_curve=st.sampled_from(CHOICES["decay_curve"]),
        decay_clock=st.sampled_from(CHOICES["decay_clock"]),
        min_score=st.floats(-1, 1),
    ),
    injection=st.builds(
        nm.Injection,
        inject_limit=st.integers(0, 100),
        inject_min_score=st.floats(-1, 1),
        inject_min_words=st.floats(0, 2),
        inject_min_cosine=st.floats(-1, 2),
        inject_max_tokens=st.integers(0, 10**6),
    ),
    embedder=st.none() | st.text("abc:-1", min_size=1),
)


@given(SETTINGS)
def test_toml_and_dict_round_trip(settings: nm.Settings) -> None:
    text = settings.to_toml()
    assert nm.Settings.from_toml(text) == settings
    assert nm.Settings.from_dict(tomllib.loads(text)) == settings
    assert nm.Settings.from_dict(settings.to_dict()) == settings
    assert hash(nm.Settings.from_toml(text)) == hash(settings)


def test_toml_leaves_out_what_is_unset() -> None:
    assert set(tomllib.loads(nm.Settings().to_toml())) == {"retrieval", "scoring", "injection"}
    assert "w_recency" not in nm.Settings().to_toml()
    assert "w_recency = 0.0" in nm.Settings(scoring=nm.Scoring(w_recency=0)).to_toml()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[scorin]\nrrf_k = 5", "no 'scorin'; did you mean 'scoring'"),
        ("scoring = 5", r"scoring must be a table \[scoring\]"),
        ("rrf_k = 5\n[scoring]", r"no 'rrf_k', which stands in \[scoring\]"),
        ("depth = 5\n[scoring]", r"no 'depth', which stands in \[retrieval\]"),
        ("[scoring]\ndepth = 5", r"\[scoring\] has no parameter 'depth', which stands in \[retr"),
        ("[scoring]\nrrf = 5", r"\[scoring\] has no parameter 'rrf'; did you mean 'rrf_k'"),
        ("[scoring]\nrrf_k = 'x'", "rrf_k"),
        ("[scoring]\nrrf_k = -3", "rrf_k"),
        ("[scoring]\nw_text = 0\nw_vector = 0", "w_text and w_vector are 0"),
        ("[scoring]\nw_frequency = 1", "w_frequency is a weight of no leg or term"),
        ("[retrieval]\nlegs = ['vectr']", "did you mean 'vector'"),
        ("[retrieval]\npool = 100", r"\[retrieval\] has no parameter 'pool'"),
        ("[injection]\ninject_min_words = 3", "inject_min_words must be from 0 to 2"),
        ("[injection]\nmin_score = 0.3", r"'min_score', which stands in \[scoring\]"),
        ("embedder = 3", "embedder must be the fingerprint"),
        ("[provenance]\nseed = 7", "no 'provenance'"),
        ("[scoring", "not TOML"),
    ],
)
def test_what_would_be_ignored_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises((nm.InvalidParameter, nm.UnknownName), match=message):
        nm.Settings.from_toml(text)
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises((nm.InvalidParameter, nm.UnknownName), match=r"wrong\.toml: ") as caught:
        read_settings(path)
    assert "\n" not in str(caught.value)


def test_a_folder_is_read_where_it_has_best_toml(tmp_path: Path) -> None:
    with pytest.raises(nm.InvalidParameter, match=r"is a folder without best\.toml") as caught:
        read_settings(tmp_path)
    assert "\n" not in str(caught.value)
    settings = nm.Settings(scoring=nm.Scoring(rrf_k=5))
    (tmp_path / "best.toml").write_text(settings.to_toml())
    assert read_settings(tmp_path) == nm.Settings.from_toml(tmp_path) == settings
    with pytest.raises(nm.InvalidParameter, match=r"cannot read the settings .*absent\.toml"):
        nm.Settings.from_toml(tmp_path / "absent.toml")


def test_replace_finds_the_part_that_a_name_belongs_to() -> None:
    changed = nm.Settings().replace(
        depth=50, half_life_days=7, inject_limit=3, embedder="minilm:384"
    )
    assert changed.retrieval == nm.Retrieval(depth=50)
    assert changed.scoring == nm.Scoring(half_life_days=7)
    assert changed.injection == nm.Injection(inject_limit=3)
    assert changed.value_of("depth") == 50
    assert changed.value_of("inject_limit") == 3
    assert nm.Settings() == changed.replace(
        depth=None, decay_lambda=0.001, inject_limit=5, embedder=None
    )
    with pytest.raises(nm.InvalidParameter, match="did you mean 'inject_limit'"):
        nm.Settings().replace(inject_limt=3)


def test_the_presets() -> None:
    assert nm.Settings.preset("documented") == nm.Settings()
    recommended = nm.Settings.preset("recommended")
    assert recommended.scoring.half_life_days == pytest.approx(365)
    assert recommended.injection.inject_min_score == 0
    with pytest.raises(nm.UnknownName, match="documented, recommended"):
        nm.Settings.preset("best")


@pytest.mark.parametrize(
    ("scoring", "highest"),
    [
        (nm.Scoring(), 0.8),
        (nm.Scoring(w_relevance=0.3, w_importance=0.02), 0.32),
        (nm.Scoring(decay_lambda=0), 1.0),
        (nm.Scoring(w_importance=-1), 0.5),
        (nm.Scoring(fusion="rrf_raw", w_importance=0), 0.5 * 2 / 61),
        (nm.Scoring(fusion=lambda legs: legs.text_scores), None),
    ],
)
def test_the_highest_score_is_known_where_it_can_be(
    scoring: nm.Scoring, highest: float | None
) -> None:
    found = nm.Settings(scoring=scoring).highest_score()
    assert found == (None if highest is None else pytest.approx(highest))


def test_scaled_settings_keep_their_share_of_the_highest_score() -> None:
    silent = nm.Scoring(w_relevance=0.3, w_importance=0.02)
    scaled = nm.Settings().scaled_to(silent)
    assert scaled.scoring == silent
    assert scaled.injection.inject_min_score == pytest.approx(0.3 / 0.8 * 0.32)
    assert scaled.injection == nm.Injection(inject_min_score=scaled.injection.inject_min_score)


@pytest.mark.parametrize("name", INJECTION_OPTIONS)
@pytest.mark.parametrize("value", ["many", True, None, float("nan"), [3]])
def test_thresholds_of_another_kind_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(nm.InvalidParameter, match=name):
        nm.Injection(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("inject_limit", -1),
        ("inject_limit", 2.5),
        ("inject_max_tokens", -1),
        ("inject_min_score", 10**400),
        ("inject_min_words", -0.1),
        ("inject_min_words", 2.1),
        ("inject_min_cosine", -1.1),
        ("inject_min_cosine", 10**400),
    ],
    ids=lambda value: str(value)[:20],
)
def test_thresholds_out_of_range_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(nm.InvalidParameter, match=name):
        nm.Injection(**{name: value})


def test_a_part_beside_the_whole_stands_in_its_place() -> None:
    whole = nm.Settings(scoring=nm.Scoring(rrf_k=5), injection=nm.Injection(inject_limit=2))
    other = nm.Scoring(rrf_k=9)
    assert chosen_settings(whole, other) == whole.replace(scoring=other)
    assert chosen_settings(None, other) == nm.Settings(scoring=other)
    assert chosen_settings(whole, None, nm.Retrieval(depth=3)) == whole.replace(depth=3)


def test_a_number_of_numpy_is_one() -> None:
    numbers = {
        "depth": np.int64(40),
        "inject_limit": np.int64(3),
        "inject_min_score": np.float32(0.5),
        "rrf_k": np.float32(5),
    }
    settings = nm.Settings().replace(**numbers)
    assert nm.Settings.from_toml(settings.to_toml()) == settings
