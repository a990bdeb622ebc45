import dataclasses
import functools
import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nousmem.entry import parse_instant
from nousmem.errors import InvalidParameter
from nousmem.scoring import (
    CHOICES,
    CURVES,
    Scoring,
    age_hours,
    composite,
    epoch_seconds,
    fused_relevance,
    half_life_days,
    recency,
    rrf,
    score_order,
)
from nousmem.scoring import decay as decay_along

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "golden" / "scoring.json").read_text(encoding="utf-8")
)
CLOSE = {"rel": 1e-12, "abs": 1e-12}

HOURS = st.floats(0, 1e6)
RATES = st.floats(0, 10)
WEIGHTS = st.floats(-100, 100)


decay = functools.partial(decay_along, curve=CURVES["exponential"])


# The formulas once more, as a bare loop over one entry at a time.


def hours_between(last_accessed: datetime, now: datetime) -> float:
    """Whole seconds, each side rounded down first; the future is now."""
    seconds = math.floor(now.timestamp()) - math.floor(last_accessed.timestamp())
    return max(seconds / 3600, 0.0)


def decayed(score: float, hours: float, rate: float, *, evergreen: bool) -> float:
    return score if evergreen else score * math.exp(-rate * hours)


def weighed(relevance: float, importance: float, hours: float, weights: list[float]) -> float:
    total = weights[0] * relevance
    total += weights[1] * importance
    total += weights[2] * math.exp(-0.01 * hours)
    return total


def merged(legs: list[list[str]], k: float) -> dict[str, float]:
    scores: dict[str, float] = {}
    for leg in legs:
        for doc_id, rank in {doc_id: rank for rank, doc_id in enumerate(leg, 1)}.items():
            scores[doc_id] = scores.get(doc_id, 0.0) + 1 / (k + rank)
    return scores


def ranks_of(legs: list[list[str]], doc_ids: list[str]) -> np.ndarray:
    """Shape (legs, candidates); of an id that repeats in one leg, the last rank counts."""
    places = [{doc_id: rank for rank, doc_id in enumerate(leg, 1)} for leg in legs]
    return np.array([[place.get(doc_id, 0) for doc_id in doc_ids] for place in places])


def golden_hours(row: dict[str, Any]) -> float:
    seen, now = parse_instant(row["last_accessed_at"]), parse_instant(row["now"])
    return float(age_hours(epoch_seconds(seen), epoch_seconds(now)))


def golden_weights(row: dict[str, Any]) -> list[float]:
    given = row["weights"] or {}
    defaults = {"relevance": 0.5, "importance": 0.3, "recency": 0.2}
    return [given.get(name, default) for name, default in defaults.items()]


def test_the_golden_file_is_all_there():
    assert len(GOLDEN["temporal_decay"]) + len(GOLDEN["composite_score"]) == 1305
    assert len(GOLDEN["sub_second"]) == 10
    assert len(GOLDEN["rrf_merge"]) == 26


def test_golden_decay():
    for row in GOLDEN["temporal_decay"]:
        rate = 0.001 if row["lambda"] is None else row["lambda"]
        hours = golden_hours(row)
        value = row["score"] * decay(hours, decay_lambda=rate, evergreen=row["evergreen"])
        assert value == pytest.approx(row["ok"], **CLOSE), row
        loop = decayed(row["score"], hours, rate, evergreen=row["evergreen"])
        assert loop == pytest.approx(row["ok"], **CLOSE), row


def test_golden_composite():
    for row in GOLDEN["composite_score"]:
        hours = golden_hours(row)
        weights = golden_weights(row)
        terms = [row["relevance"], row["importance"], recency(hours, recency_lambda=0.01)]
        value = composite(zip(weights, terms, strict=True))
        assert value == pytest.approx(row["ok"], **CLOSE), row
        loop = weighed(row["relevance"], row["importance"], hours, weights)
        assert loop == pytest.approx(row["ok"], **CLOSE), row


def test_golden_ages_count_whole_seconds_of_each_side():
    for row in GOLDEN["sub_second"]:
        seen, now = parse_instant(row["last_accessed_at"]), parse_instant(row["now"])
        assert epoch_seconds(now) - epoch_seconds(seen) == row["diff_seconds"]
        hours = age_hours(epoch_seconds(seen), epoch_seconds(now))
        assert hours == hours_between(seen, now)
        assert decay(hours, decay_lambda=1.0) == pytest.approx(row["decayed_lambda_1"], **CLOSE)
        recent = recency(hours, recency_lambda=0.01)
        assert recent == pytest.approx(row["composite_recency_only"], **CLOSE)


@pytest.mark.parametrize(
    "case", [row for row in GOLDEN["rrf_merge"] if "ok" in row], ids=lambda row: row["name"]
)
def test_golden_rrf(case: dict[str, Any]):
    legs = [[doc_id for doc_id, _ in case[name]] for name in "ab"]
    expected = {doc_id: score for doc_id, score, _ in case["ok"]}
    k = 60 if case["k"] is None else case["k"]
    doc_ids = sorted(expected, reverse=True)
    scores = rrf(ranks_of(legs, doc_ids), k=k)
    assert dict(zip(doc_ids, scores.tolist(), strict=True)) == pytest.approx(expected, **CLOSE)
    assert merged(legs, k) == pytest.approx(expected, **CLOSE)
    order = [doc_ids[i] for i in score_order(scores)]
    tied = {doc_id for group in case["tie_groups"] for doc_id in group}
    assert [doc_id for doc_id in order if doc_id not in tied] == [
        doc_id for doc_id, _, _ in case["ok"] if doc_id not in tied
    ]
    for group in case["tie_groups"]:
        inside = [doc_id for doc_id in order if doc_id in group]
        assert inside == sorted(group, reverse=True)


def test_golden_rrf_that_divides_by_zero_is_refused():
    (case,) = [row for row in GOLDEN["rrf_merge"] if "error" in row]
    with pytest.raises(InvalidParameter, match="rrf_k -1"):
        rrf([[1, 0], [0, 1]], k=case["k"])


def test_golden_evergreen_is_exempt_from_decay_and_not_from_recency():
    mortal, evergreen = GOLDEN["evergreen"]
    share = decay(720, decay_lambda=0.001, evergreen=[False, True])
    assert 0.5 * share == pytest.approx([mortal["decayed"], evergreen["decayed"]], **CLOSE)
    assert mortal["default_weights"] == evergreen["default_weights"]


def test_golden_truthy_is_not_true():
    # The original decays an entry whose evergreen is 1; an entry here is only True or False.
    case = next(row for row in GOLDEN["bad_input"] if "truthy" in row["case"])
    assert case["r"]["ok"] < 1


@given(st.lists(st.permutations("abcdef").map(lambda ids: ids[:4]), min_size=1, max_size=4))
def test_rrf_does_not_depend_on_the_order_of_legs_or_candidates(legs: list[list[str]]):
    ranks = ranks_of(legs, list("abcdef"))
    scores = rrf(ranks)
    assert scores == pytest.approx(rrf(ranks[::-1]), rel=1e-15)
    assert rrf(ranks[:, ::-1]).tolist() == scores[::-1].tolist()
    expected = merged(legs, 60)
    assert scores.tolist() == pytest.approx([expected.get(i, 0.0) for i in "abcdef"], rel=1e-15)


@given(st.integers(1, 10_000), st.integers(1, 10_000), st.floats(0, 1e4))
def test_a_better_rank_never_scores_less(first: int, second: int, k: float):
    better, worse = rrf([[min(first, second), max(first, second)]], k=k)
    assert better >= worse > 0


@given(HOURS, HOURS, RATES)
def test_decay_is_monotone_and_from_0_to_1(first: float, second: float, rate: float):
    young, old = decay([min(first, second), max(first, second)], decay_lambda=rate)
    assert 1.0 >= young >= old >= 0.0


@given(HOURS, RATES)
def test_evergreen_is_untouched_and_no_rate_is_no_decay(hours: float, rate: float):
    assert decay(hours, decay_lambda=rate, evergreen=True) == 1.0
    assert decay(hours, decay_lambda=0) == 1.0


@given(
    st.tuples(WEIGHTS, WEIGHTS, WEIGHTS),
    st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)),
    WEIGHTS,
)
def test_composite_is_linear(
    weights: tuple[float, float, float], terms: tuple[float, float, float], factor: float
):
    def total(values: list[float]) -> float:
        return float(composite(zip(weights, values, strict=True)))

    alone = [total([term if i == j else 0.0 for j in range(3)]) for i, term in enumerate(terms)]
    assert total(list(terms)) == alone[0] + alone[1] + alone[2]
    scaled = total([factor * term for term in terms])
    assert scaled == pytest.approx(factor * total(list(terms)), rel=1e-9, abs=1e-9)


def test_composite_clamps_nothing():
    value = composite([(10, 1.7), (-5, 1.5), (2, 1.0)])
    assert value == 10 * 1.7 - 5 * 1.5 + 2


def test_ages_are_hours_and_never_negative():
    assert age_hours([0, 1800, 7200], 3600).tolist() == [1.0, 0.5, 0.0]
    assert age_hours(-3600, 3600) == 2.0
    # The product of seconds and the year 9999 stays exact.
    assert epoch_seconds(datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == 253402300799
    assert epoch_seconds(datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC)) == -1


def test_relevance_of_the_text_leg_alone_is_its_score():
    assert fused_relevance([[1, 2, 3]], [0.9, 0.4, 0.1]).tolist() == [0.9, 0.4, 0.1]
    assert fused_relevance([[1, 2], [0, 0]], [0.9, 0.4]).tolist() == [0.9, 0.4]


def test_relevance_of_several_legs_is_rrf_over_its_maximum():
    ranks = [[1, 2, 0], [2, 0, 1]]
    expected = np.array([1 / 61 + 1 / 62, 1 / 62, 1 / 61]) / (1 / 61 + 1 / 62)
    assert fused_relevance(ranks, [0.9, 0.4, 0.0]) == pytest.approx(expected, rel=1e-15)
    assert fused_relevance([[0, 0], [1, 2]], [0.0, 0.0])[0] == 1.0


def test_relevance_of_no_candidates_is_empty():
    assert fused_relevance(np.zeros((2, 0)), np.zeros(0)).shape == (0,)
    assert fused_relevance(np.zeros((2, 5, 0)), np.zeros((5, 0))).shape == (5, 0)


def test_relevance_decides_for_each_query_on_its_own():
    ranks = np.array([[[1, 2], [1, 2]], [[0, 0], [2, 1]]])
    text = np.array([[0.9, 0.4], [0.9, 0.4]])
    relevance = fused_relevance(ranks, text)
    assert relevance.shape == (2, 2)
    assert relevance[0].tolist() == [0.9, 0.4]
    assert relevance[1].tolist() == [1.0, 1.0]
    for i in range(2):
        assert relevance[i].tolist() == fused_relevance(ranks[:, i], text[i]).tolist()


def test_padding_does_not_change_the_others():
    padded = fused_relevance([[1, 2, 0], [2, 1, 0]], [0.9, 0.4, 0.0])
    assert padded.tolist() == [*fused_relevance([[1, 2], [2, 1]], [0.9, 0.4]).tolist(), 0.0]


def test_functions_broadcast_over_settings():
    hours = np.array([0.0, 10.0, 100.0])
    rates = np.array([[0.0], [0.01]])
    share = decay(hours, decay_lambda=rates, evergreen=[False, False, True])
    assert share.shape == (2, 3)
    assert share[1, 1] == pytest.approx(math.exp(-0.1))
    assert share[1, 2] == 1.0
    assert recency(hours, recency_lambda=rates).shape == (2, 3)
    weights = np.zeros((4, 1, 1))
    total = composite([(1.0, share), (weights, 0.5), (0.0, 1.0)])
    assert total.shape == (4, 2, 3)
    ks = np.array([1.0, 60.0]).reshape(2, 1)
    ranks = np.array([[[1, 2, 3]], [[3, 0, 1]]])
    fused = rrf(ranks, k=ks)
    assert fused.shape == (2, 3)
    for i, k in enumerate([1.0, 60.0]):
        assert fused[i].tolist() == rrf(ranks[:, 0], k=k).tolist()
        alone = fused_relevance(ranks[:, 0], np.zeros(3), k=k)
        assert fused_relevance(ranks, np.zeros((1, 3)), k=ks)[i].tolist() == alone.tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_scores_are_float64_whatever_comes_in(dtype: type):
    ones = np.ones(2, dtype=dtype)
    assert composite([(1, ones), (1, ones), (1, ones)]).dtype == float
    assert age_hours(ones, ones).dtype == float
    assert rrf(ones[None].astype(int)).dtype == float


def test_equal_scores_keep_their_order():
    assert score_order(np.array([0.5, 0.9, 0.5, 0.9])).tolist() == [1, 3, 0, 2]
    both = score_order(np.array([[0.1, 0.2], [0.2, 0.2]]))
    assert both.tolist() == [[1, 0], [0, 1]]


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.text("abé", max_size=3)), unique=True)
)
def test_ties_go_to_the_greater_id_when_held_by_descending_id(rows: list[tuple[float, str]]):
    held = sorted({doc_id: score for score, doc_id in rows}.items(), reverse=True)
    order = score_order(np.array([score for _, score in held]))
    ranked = [held[i] for i in order]
    assert ranked == sorted(held, key=lambda pair: (pair[1], pair[0]), reverse=True)


def test_half_life():
    assert half_life_days(0.001) == pytest.approx(28.881132, abs=1e-6)
    assert half_life_days(0) == math.inf
    assert Scoring(half_life_days=30).decay_lambda == pytest.approx(math.log(2) / 720)
    assert Scoring(half_life_days=math.inf).decay_lambda == 0.0
    assert half_life_days(Scoring(half_life_days=7).decay_lambda) == pytest.approx(7)


@given(st.floats(1e-3, 1e6))
def test_half_of_the_relevance_is_left_after_a_half_life(days: float):
    rate = Scoring(half_life_days=days).decay_lambda
    assert decay(24 * days, decay_lambda=rate) == pytest.approx(0.5)


def test_defaults_are_the_documented_ones():
    assert Scoring().to_dict() == {
        "decay_lambda": 0.001,
        "w_relevance": 0.5,
        "w_importance": 0.3,
        "w_recency": None,
        "recency_lambda": 0.01,
        "rrf_k": 60.0,
        "fusion": "rrf",
        "w_text": 1.0,
        "w_vector": 1.0,
        "decay_curve": "exponential",
        "decay_clock": "last_access",
        "decay_floor": 0.0,
        "decay_importance": 0.0,
        "update_rule": "freshness",
        "update_penalty": 0.0,
        "update_lambda": 0.0,
        "update_takeover": 0.0,
        "update_similarity": 0.2,
        "update_ratio": 0.93,
        "update_depth": 0,
        "min_score": 0.0,
        "weights": {},
    }


def test_recency_turns_itself_off_when_decay_is_on_and_nobody_asked_for_it():
    assert Scoring().term_weights() == (0.5, 0.3, 0.0)
    assert Scoring(decay_lambda=0).term_weights() == (0.5, 0.3, 0.2)
    assert Scoring(w_recency=0.4).term_weights() == (0.5, 0.3, 0.4)
    assert Scoring(decay_lambda=0, w_recency=0).term_weights() == (0.5, 0.3, 0.0)


@pytest.mark.parametrize(
    "values",
    [
        {"decay_lambda": -0.001},
        {"decay_lambda": math.nan},
        {"decay_lambda": math.inf},
        {"decay_lambda": None},
        {"decay_lambda": "0.001"},
        {"decay_lambda": True},
        {"recency_lambda": -1},
        {"rrf_k": -1},
        {"rrf_k": math.inf},
        {"w_relevance": math.nan},
        {"w_importance": None},
        {"w_importance": 10**400},
        {"w_recency": math.inf},
        {"w_recency": False},
        {"half_life_days": 0},
        {"half_life_days": -3},
        {"half_life_days": math.nan},
        {"half_life_days": "30"},
        {"half_life_days": True},
        {"half_life_days": 30, "decay_lambda": 0.5},
        {"fusion": "sum"},
        {"fusion": None},
        {"decay_curve": "Power"},
        {"decay_clock": 1},
        {"decay_clock": ["creation"]},
        {"w_text": -1},
        {"w_vector": math.nan},
        {"w_vector": "power"},
    ],
    ids=str,
)
def test_values_out_of_range_are_refused(values: dict[str, Any]):
    with pytest.raises(InvalidParameter):
        Scoring(**values)
    with pytest.raises(InvalidParameter):
        Scoring.from_dict(values)
    with pytest.raises(InvalidParameter):
        Scoring().replace(**values)


def test_weights_may_be_any_finite_number():
    assert Scoring(w_relevance=-1, w_importance=5, w_recency=0).term_weights() == (-1.0, 5.0, 0.0)
    assert type(Scoring(w_relevance=np.float32(1)).w_relevance) is float


def test_a_scoring_does_not_change():
    with pytest.raises(AttributeError):
        Scoring().rrf_k = 1


def test_replace_returns_a_copy():
    first = Scoring(w_recency=0.1)
    second = first.replace(w_importance=0)
    assert first == Scoring(w_recency=0.1)
    assert second == Scoring(w_recency=0.1, w_importance=0)
    assert first.replace() == first
    assert first.replace(w_recency=None) == Scoring()
    assert hash(first) == hash(first.replace())


def test_replace_takes_a_half_life():
    assert Scoring(decay_lambda=0.5).replace(half_life_days=30) == Scoring(half_life_days=30)
    assert Scoring(decay_lambda=0.5).replace(half_life_days=None) == Scoring(decay_lambda=0.5)
    with pytest.raises(InvalidParameter, match="not both"):
        Scoring().replace(half_life_days=30, decay_lambda=0.5)


@pytest.mark.parametrize("rate", [0.0, 0.001, 0.5])
def test_the_standard_replace_never_keeps_the_old_rate_in_silence(rate: float):
    scoring = Scoring(half_life_days=90)
    with pytest.raises(InvalidParameter, match=r"Scoring\.replace"):
        dataclasses.replace(scoring, decay_lambda=rate)
    assert dataclasses.replace(scoring, rrf_k=3) == scoring.replace(rrf_k=3)
    assert dataclasses.replace(Scoring(), rrf_k=3).decay_lambda == 0.001


def test_unknown_parameters_are_refused_by_name():
    with pytest.raises(InvalidParameter, match=r"'decay_lamda'.*decay_lambda"):
        Scoring().replace(decay_lamda=0)
    with pytest.raises(InvalidParameter, match="'scoring_weights'"):
        Scoring.from_dict({"scoring_weights": {}})


SCORINGS = st.builds(
    Scoring,
    decay_lambda=st.floats(0, 1e300),
    w_relevance=st.floats(-1e300, 1e300),
    w_importance=WEIGHTS,
    w_recency=st.none() | WEIGHTS,
    recency_lambda=st.floats(0, 1e-300),
    rrf_k=st.floats(0, 1e4),
    fusion=st.sampled_from(CHOICES["fusion"]),
    w_text=st.floats(0, 10),
    w_vector=st.floats(1e-3, 10),
    decay_curve=st.sampled_from(CHOICES["decay_curve"]),
    decay_clock=st.sampled_from(CHOICES["decay_clock"]),
)


@given(SCORINGS)
def test_dict_round_trip(scoring: Scoring):
    assert Scoring.from_dict(scoring.to_dict()) == scoring
    assert Scoring.from_dict(json.loads(json.dumps(scoring.to_dict()))) == scoring


def test_repr_shows_what_is_in_force():
    assert repr(Scoring()) == (
        "Scoring(decay_lambda=0.001 (half-life 28.88 days), w_relevance=0.5, w_importance=0.3, "
        "w_recency=0 by rule, recency_lambda=0.01, rrf_k=60)"
    )
    assert "decay_lambda=0 (off)" in repr(Scoring(decay_lambda=0))
    assert "w_recency=0.2 by rule" in repr(Scoring(decay_lambda=0))
    assert "w_recency=0.1," in repr(Scoring(w_recency=0.1))


def test_repr_shows_of_the_other_parameters_those_that_are_set():
    changed = Scoring(fusion="convex", w_vector=2, decay_curve="power")
    assert repr(changed).endswith("rrf_k=60, fusion='convex', w_vector=2, decay_curve='power')")
