"""Numbers and names as the pictures write them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Final

from nousmem.scoring import half_life_days, own_weight

__all__ = [
    "days_of",
    "duration",
    "durations",
    "is_half_life",
    "is_measure",
    "measure_label",
    "named",
    "parameter_label",
    "share",
    "unset",
    "values_of",
]

RATES: Final = {
    "decay_lambda": "half-life of relevance",
    "recency_lambda": "half-life of the recency term",
}
"""Columns in units of 1/hour, and what their half-life is called."""

MEANINGS: Final = (
    (r"R@\d+", "share of the relevant entries found"),
    (r"Success@\d+", "share of queries with a relevant entry"),
    (r"AllRel@\d+", "share of queries with every relevant entry"),
    (r"Fresh@\d+", "share of updated facts with the newest on top"),
    (r"P@\d+", "share of the hits that are relevant"),
    (r"answered", "share of queries shown an answer"),
    (r"quiet", "share of small talk with nothing shown"),
)

PARAMETER_NAMES: Final = {
    "w_relevance": "weight of relevance",
    "w_importance": "weight of importance",
    "w_recency": "weight of recency",
    "rrf_k": "constant of rank fusion",
    "w_text": "weight of the text leg",
    "w_vector": "weight of the vector leg",
    "legs": "legs read",
    "terms": "terms of one's own",
    "depth": "entries read per leg",
    "decay_curve": "curve of decay",
    "decay_clock": "clock of decay",
    "inject_min_score": "least score",
    "inject_min_words": "least share of words",
    "inject_min_cosine": "least cosine",
}


def duration(days: float, *, digits: int = 3) -> str:
    """Return days as text: "28.9 d", "6.93 h" and "41.6 min" below a day, "off" for infinity."""
    if math.isinf(days):
        return "off"
    value, unit = days, "d"
    if days < 1:
        value, unit = days * 24, "h"
        if value < 1:
            value, unit = value * 60, "min"
    return f"{_significant(value, digits)} {unit}"


def durations(days: Sequence[float]) -> list[str]:
    """Return each as text, with more digits where three would make two of them look alike."""
    return _distinct(days, lambda value, digits: duration(value, digits=digits))


def plain(values: Sequence[float]) -> list[str]:
    """Return numbers as text with three significant digits, more where two would look alike."""
    return _distinct(values, _significant)


def values_of(column: str, values: Sequence[float]) -> list[str]:
    """Return a column's values as text: rates and half-lives as half-lives, others as numbers."""
    if is_half_life(column):
        return durations([days_of(column, value) for value in values])
    texts = iter(plain([value for value in values if not math.isnan(value)]))
    return [unset(column) if math.isnan(value) else next(texts) for value in values]


def unset(column: str, rule: str = "rule") -> str:
    """Return what a parameter that is not set is called.

    Args:
        column: Its name.
        rule: What the documented rule, which `w_recency` then follows, is called.
    """
    return {"w_recency": rule}.get(column, "unset")


def named(names: Sequence[str]) -> list[str]:
    """Return names without the modules of somebody's own code, as far as they then differ.

    "" is none.
    """
    short = [re.sub(r"[\w.]+:", "", name) for name in names]
    kept = short if len(set(short)) == len(set(names)) else names
    return [name or "none" for name in kept]


def days_of(column: str, value: float) -> float:
    """Return the half-life, in days, that a value of a rate or half-life column stands for."""
    return half_life_days(value) if column in RATES else value


def is_half_life(column: str) -> bool:
    """Return whether the column holds rates or half-lives, which are shown as half-lives."""
    return column in RATES or column == "half_life_days"


def share(value: float, *, signed: bool = False) -> str:
    """Return a measure as text, three decimals and no leading zero: ".431", "1.000", "+.012"."""
    text = f"{value:+.3f}" if signed else f"{value:.3f}"
    if float(text) == 0:
        return ".000"
    text = text.replace("-", "−")
    return text.replace("0.", ".", 1) if abs(value) < 0.9995 else text


def measure_label(measure: str) -> str:
    """Return the measure's name with what its values are."""
    for pattern, meaning in MEANINGS:
        if re.fullmatch(pattern, measure):
            return f"{measure} ({meaning})"
    return f"{measure} (0 to 1)" if is_measure(measure) else measure


def is_measure(column: str) -> bool:
    """Return whether the column is spelled like a measure: a name with a cut-off, or AP, RR."""
    return re.fullmatch(r"[A-Za-z]+(\(.*\))?@\d+|AP|RR|nDCG|SetR|SetP", column) is not None


def parameter_label(column: str) -> str:
    """Return the name of a parameter for an axis."""
    if column in RATES:
        return f"{RATES[column]} ({column})"
    if column == "half_life_days":
        return RATES["decay_lambda"]
    own = own_weight(column)
    meaning = PARAMETER_NAMES.get(column) or (own and f"weight of {own}")
    return f"{meaning} ({column})" if meaning else column


def _significant(value: float, digits: int) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    magnitude = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    decimals = digits - 1 - magnitude
    rounded = round(value, decimals)
    if 1e-4 <= abs(rounded) < 1e6:
        text = f"{rounded:,.{max(decimals, 0)}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{rounded:.{digits}g}"


def _distinct(values: Sequence[float], write: Callable[[float, int], str]) -> list[str]:
    different = len({repr(float(value)) for value in values})
    for digits in range(3, 8):
        texts = [write(value, digits) for value in values]
        if len(set(texts)) >= different:
            return texts
    return [write(value, 17) for value in values]
