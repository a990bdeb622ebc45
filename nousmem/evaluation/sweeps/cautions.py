"""Warnings of a sweep that cannot answer what it seems to ask."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nousmem.evaluation.measures import query_means
from nousmem.retrieval.settings import Retrieval, Settings
from nousmem.scoring import Floats, half_life_days

if TYPE_CHECKING:
    from nousmem.evaluation.sweeps.candidate_arrays import CandidateArrays

__all__ = [
    "BuryingDecayWarning",
    "IdleParameterWarning",
    "SilentLegWarning",
    "idle_parameters",
    "warn_of_burying",
    "warn_of_idle",
    "warn_of_silent_leg",
]

_BURIED = 0.01
_ENOUGH_QUERIES = 10


class IdleParameterWarning(UserWarning):
    """A grid varies a parameter that changes nothing."""


class BuryingDecayWarning(UserWarning):
    """Every setting of a sweep lets decay bury what it is looking for."""


class SilentLegWarning(UserWarning):
    """A leg that was read returned nothing for any query."""


def warn_of_silent_leg(arrays: CandidateArrays, *, by_vectors: bool, stacklevel: int) -> None:
    """Warn of each leg that found nothing for any of at least ten queries.

    Such as a text leg that looks for the whole question as a substring: what is measured is then
    the other leg alone, or nothing.

    Args:
        arrays: The candidates.
        by_vectors: Whether there was an embedder for the vector leg.
        stacklevel: Of the warning.
    """
    if len(arrays) < _ENOUGH_QUERIES:
        return
    for at, leg in enumerate(arrays.legs):
        if (leg != "vector" or by_vectors) and not arrays.ranks[at].any():
            hint = "; a DuckDB store has ?text=bm25 for questions" if leg == "text" else ""
            warnings.warn(
                f"the {leg} leg found nothing for any of {len(arrays):,} queries{hint}",
                SilentLegWarning,
                stacklevel=stacklevel,
            )


def warn_of_idle(
    parameters: Sequence[str], settings: Sequence[Settings], values: Floats, *, stacklevel: int
) -> None:
    """Warn of each parameter of a whole grid whose values all measure the same.

    Such as rrf_k without ranks in the fusion, a curve without decay, or recency_lambda while
    recency weighs nothing: rows that look like a finding.

    Args:
        parameters: Those varied, in the order of the grid: the last varies fastest.
        settings: The whole grid.
        values: Shape (settings, measures, queries).
        stacklevel: Of the warning.
    """
    for name, size in idle_parameters(parameters, settings, values).items():
        warnings.warn(
            f"{name} changes nothing here: its {size} values measure the same under every "
            "other setting. Another parameter leaves it without effect, or the queries are "
            "too few to show one",
            IdleParameterWarning,
            stacklevel=stacklevel + 1,
        )


def idle_parameters(
    parameters: Sequence[str], settings: Sequence[Settings], values: Floats
) -> dict[str, int]:
    """Return the parameters of a whole grid that change nothing, and how many values they have.

    Args:
        parameters: As in `warn_of_idle`; so are the others. Of what is no whole grid, none is
            returned.
        settings: What was tried.
        values: Their measures.
    """
    names = ["decay_lambda" if name == "half_life_days" else name for name in parameters]
    sizes = [len({repr(setting.value_of(name)) for setting in settings}) for name in names]
    if int(np.prod(sizes)) != len(settings):
        return {}
    means = query_means(values).reshape(*sizes, -1)
    found: dict[str, int] = {}
    for axis, (name, size) in enumerate(zip(parameters, sizes, strict=True)):
        first = np.take(means, [0], axis=axis)
        if size > 1 and np.array_equal(np.broadcast_to(first, means.shape), means, equal_nan=True):
            found[name] = size
    return found


def warn_of_burying(
    found: Mapping[Retrieval, CandidateArrays], settings: Sequence[Settings], *, stacklevel: int
) -> None:
    """Warn when every setting leaves the median relevant candidate under 1 % of its relevance.

    Its ranking is then by age and importance, whatever the query says.
    """
    if not settings:
        return
    gentlest = min(settings, key=lambda setting: setting.scoring.decay_lambda)
    rate = gentlest.scoring.decay_lambda
    arrays = found[gentlest.retrieval]
    n = len(arrays.judgements.doc_ids)
    columns = arrays.watched_column[:n]
    known = columns >= 0
    if not known.any() or not rate:
        return
    left = arrays.decay_under(gentlest.scoring)[arrays.watched_query[:n][known], columns[known]]
    median = float(np.median(left))
    if median < _BURIED:
        warnings.warn(
            f"decay buries what is looked for: with a half-life of "
            f"{half_life_days(rate):.3g} days, the longest of this sweep, the "
            f"median relevant entry keeps {median:.2g} of its relevance. Try longer ones, or "
            "decay_lambda=0",
            BuryingDecayWarning,
            stacklevel=stacklevel,
        )
