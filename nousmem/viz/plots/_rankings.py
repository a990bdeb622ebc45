"""A picture of one ranking: what each score is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import InvalidParameter
from nousmem.retrieval.hits import Hits
from nousmem.retrieval.settings import Settings
from nousmem.scoring import HOURS_PER_DAY, Scoring
from nousmem.viz import style
from nousmem.viz.plots import _frames as frames
from nousmem.viz.plots import _layout as layout
from nousmem.viz.plots import labels
from nousmem.viz.plots.given import scoring_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["score_parts"]

COLUMNS: Final = (
    "rank",
    "doc_id",
    "content",
    "score",
    "relevance",
    "decay",
    "importance",
    "recency",
)
TERMS: Final = (
    ("relevance left by decay", style.PALETTE[0], ""),
    ("importance", style.PALETTE[6], "////"),
    ("recency", style.PALETTE[2], "...."),
)
OWN_COLOURS: Final = (style.PALETTE[3], style.PALETTE[4], style.PALETTE[1], style.PALETTE[5])
OWN_HATCHES: Final = ("ooo", "+++", "---", "***", "OO")
"""Of terms of one's own, in turn."""
TAKEN_OVER: Final = ("taken over from outdated", style.PALETTE[5], "\\\\\\\\")
LOSSES: Final = (
    ("lost to decay", style.PALETTE[0], "xxx"),
    ("lost to an update", style.PALETTE[1], "|||"),
)
LOWEST: Final = 2.6
"""Height of a narrow Axes, inches, below which the score's formula is left out."""

WIDEST: Final = 46
WIDEST_IN_A_COLUMN: Final = 18
"""Letters of a memory's content."""


def score_parts(
    frame: pd.DataFrame | Hits,
    *,
    scoring: Scoring | Settings | None = None,
    weights: Sequence[float] | None = None,
    relevant: Iterable[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one ranking as stacked bars, rank 1 at the top: each term's contribution to the score.

    Relevance contributes w_relevance · relevance · freshness · decay; the part that an update
    has taken over from what it outdates (freshness above 1) is paler. What decay took,
    w_relevance · relevance · freshness · (1 - decay), and before it what updates took,
    w_relevance · relevance · (1 - freshness), are drawn as empty bars behind the others.

    A term of one's own that has a weight is a part of its own. One that age takes from is part of
    relevance in the frame, and stands beside the rest of it here: w_relevance · weight · term ·
    freshness · decay.

    Args:
        frame: The hits; or `hits.to_frame()`, one row a hit. Columns: rank (int, from 1), doc_id,
            content (text), score (the composite), relevance (after fusion, with the terms that age
            takes from, before decay), decay (the share left, 0 to 1), importance, recency, and
            every term of one's own that has a weight; optional freshness (1 where it is missing)
            and age_hours, shown in days.
        scoring: The Settings or the Scoring that the search ran with; None is that of the hits,
            and for a frame the default one. Settings alone say which terms age takes from.
        weights: The weights of relevance, importance and recency, in place of `scoring`.
        relevant: The doc_ids judged relevant, marked with a star.
        ax: Where to draw; None is a new figure.

    Returns:
        The Axes; without any hit it says so.

    Raises:
        InvalidParameter: a column is missing or holds no numbers; `scoring` is something else;
            both `scoring` and `weights` are given, or not three weights; the weights do not give
            the frame's scores; or `relevant` is a single text.
        MissingDependency: matplotlib is not installed.
    """
    source = "hits.to_frame()"
    if isinstance(frame, Hits):
        scoring = frame.settings if scoring is None and weights is None else scoring
        frame = frame.to_frame()
    rows = frames.require(frame, COLUMNS, source=source).sort_values("rank", kind="stable")
    rows = rows.reset_index(drop=True)
    in_force = _weights(scoring, weights)
    own = [] if weights is not None else _own_terms(rows, scoring)
    segments = _segments(rows, in_force, own)
    if isinstance(relevant, str):
        raise InvalidParameter(f"relevant must be several doc_ids, got the text {relevant!r}")
    stars = {str(doc_id) for doc_id in relevant or ()}
    with style.drawing(ax, size=(8.4, min(14.0, 1.5 + 0.36 * max(len(rows), 1)))) as canvas:
        style.dress(canvas, grid="x")
        narrow = layout.is_narrow(canvas)
        marks = [str(doc_id) in stars for doc_id in rows["doc_id"].tolist()]
        contents = [
            _short(str(content), str(doc_id), WIDEST_IN_A_COLUMN if narrow else WIDEST)
            for content, doc_id in zip(
                rows["content"].tolist(), rows["doc_id"].tolist(), strict=True
            )
        ]
        # Before the layout of its figure, an Axes does not know what stands at its left.
        width = layout.size(canvas)[0] - 0.06 * max(map(len, contents), default=0)
        formula = f" = {_formula(in_force, own, updates=any(s.of_updates for s in segments))}"
        if narrow and layout.size(canvas)[1] < LOWEST:
            formula = ""  # its lines would leave no room for the bars
        layout.name_axes(
            canvas, f"score{formula}", "" if narrow else "memory and rank", inches=width
        )
        if rows.empty:
            canvas.set(xticks=[], yticks=[])
            canvas.text(0.5, 0.5, "no hits", ha="center", va="center", transform=canvas.transAxes)
            return canvas
        _draw_bars(canvas, segments, len(rows))
        texts = [
            f"{'★ ' if mark else ''}{content}  {rank}"
            for mark, content, rank in zip(marks, contents, rows["rank"].tolist(), strict=True)
        ]
        style.name_ticks(canvas.yaxis, range(len(rows)), texts)
        for tick, mark in zip(canvas.get_yticklabels(), marks, strict=True):
            tick.set_fontweight("bold" if mark else "normal")
        canvas.locator_params(axis="x", nbins=4 if narrow else 9)
        style.share_ticks(canvas.xaxis)
        canvas.tick_params(axis="y", length=0)
        canvas.set_ylim(len(rows) - 0.4, -0.6)
        _figures(canvas, rows, ages=not narrow)
        found = f"★ relevant: {sum(marks)} of {len(stars)} in these {len(rows)} hits"
        layout.headline(
            canvas,
            "What each score is made of",
            found if stars else "",
            inches=width,
            lift=11.5 if narrow else 0,
        )
        layout.place_legend(canvas, under=True)
        return canvas


def _weights(
    scoring: Scoring | Settings | None, weights: Sequence[float] | None
) -> tuple[float, ...]:
    if scoring is not None and weights is not None:
        raise InvalidParameter("give scoring or weights, not both")
    if weights is None:
        return scoring_of(scoring).term_weights()
    try:
        three = tuple(float(weight) for weight in weights)
    except (TypeError, ValueError):
        three = ()
    if len(three) != 3 or not np.isfinite(three).all():
        raise InvalidParameter(
            f"weights must be three finite numbers, of relevance, importance and recency, "
            f"got {weights!r}"
        )
    return three


class _OwnTerm(NamedTuple):
    """A term of one's own that has a weight."""

    name: str
    weight: float
    decays: bool


def _own_terms(rows: pd.DataFrame, scoring: Scoring | Settings | None) -> list[_OwnTerm]:
    """Return the terms of one's own in the score, in the order in which they are added."""
    weights = scoring_of(scoring).weights
    if isinstance(scoring, Settings):
        terms = [(term.name, term.decays) for term in scoring.retrieval.own_terms]
    else:
        # A leg has a weight as well, and two columns of other names.
        terms = [(name, False) for name in weights if name in rows.columns]
    return [_OwnTerm(name, weights[name], decays) for name, decays in terms if weights.get(name)]


class _Segment(NamedTuple):
    """A part of every bar."""

    name: str
    colour: str
    hatch: str
    lengths: NDArray[np.float64]
    """Shape (hits,): in units of the score, with the sign of the term's weight."""
    kept: bool
    """Whether it is in the score; what is not is drawn empty."""
    of_updates: bool = False


def _segments(
    rows: pd.DataFrame, weights: tuple[float, ...], own: Sequence[_OwnTerm]
) -> list[_Segment]:
    """Return what the bars are put together from, outwards from zero; nothing without a length."""
    frames.require(rows, [term.name for term in own], source="hits.to_frame()")
    relevance, decay, importance, recency, score = (
        frames.numbers(rows, name)
        for name in ("relevance", "decay", "importance", "recency", "score")
    )
    fresh = np.ones_like(relevance)
    if "freshness" in rows.columns:
        fresh = frames.numbers(rows, "freshness")
    full = weights[0] * relevance
    added = {term.name: term.weight * frames.numbers(rows, term.name) for term in own}
    apart = [added[term.name] for term in own if not term.decays]
    parts = np.stack([full * fresh * decay, weights[1] * importance, weights[2] * recency, *apart])
    wrong = np.abs(parts.sum(axis=0) - score) > 1e-6
    if wrong.any():
        i = int(wrong.argmax())
        told = (*weights, *(term.weight for term in own))
        raise InvalidParameter(
            f"with the weights {told} the parts of rank {rows['rank'].iloc[i]} add up to "
            f"{parts[:, i].sum():.4g}, but its score is {score[i]:.4g}: "
            "pass the Scoring that the search ran with, or hits.settings where terms of your own "
            "decay"
        )
    taken = full * np.maximum(fresh - 1, 0) * decay
    lost = full * fresh * (1 - decay), full * np.maximum(1 - fresh, 0)
    looks = zip(OWN_COLOURS * len(own), OWN_HATCHES * len(own), strict=False)
    drawn = {
        term.name: _Segment(
            f"{term.name} left by decay" if term.decays else term.name,
            colour,
            hatch,
            weights[0] * added[term.name] * np.minimum(fresh, 1) * decay
            if term.decays
            else added[term.name],
            kept=True,
        )
        for term, (colour, hatch) in zip(own, looks, strict=False)
    }
    inside = [drawn[term.name] for term in own if term.decays]
    fused = parts[0] - taken - sum((one.lengths for one in inside), np.zeros_like(taken))
    relevant, *others = (
        _Segment(*term, part, kept=True)
        for term, part in zip(TERMS, [fused, *parts[1:3]], strict=True)
    )
    of_relevance = [
        relevant,
        *inside,
        *([_Segment(*TAKEN_OVER, taken, kept=True, of_updates=True)] if _any(taken) else []),
    ]
    terms = [
        *(of_relevance if weights[0] else []),
        *(term for term, weight in zip(others, weights[1:], strict=True) if weight),
        *(drawn[term.name] for term in own if not term.decays),
    ]
    losses = [
        _Segment(*loss, lengths, kept=False, of_updates=loss is LOSSES[1])
        for loss, lengths in zip(LOSSES, lost, strict=True)
        if _any(lengths)
    ]
    return [*terms, *losses]


def _any(lengths: NDArray[np.float64]) -> bool:
    return bool((np.abs(lengths) > 1e-9).any())


def _draw_bars(canvas: Any, segments: list[_Segment], count: int) -> None:
    places = np.arange(count)
    # What is below zero builds to the left.
    right, left = np.zeros(len(places)), np.zeros(len(places))
    for segment in segments:
        begin = np.where(segment.lengths < 0, left, right)
        right = right + np.maximum(segment.lengths, 0)
        left = left + np.minimum(segment.lengths, 0)
        looks: dict[str, Any] = (
            {"color": segment.colour, "edgecolor": style.PAPER, "linewidth": 0.6}
            if segment.kept
            else {
                "facecolor": "none",
                "edgecolor": segment.colour,
                "alpha": 0.55,
                "linewidth": 0.8,
                "linestyle": "--",
            }
        )
        canvas.barh(
            places,
            segment.lengths,
            left=begin,
            height=0.66,
            hatch=segment.hatch,
            label=segment.name,
            **looks,
        )
    canvas.axvline(0, color=style.INK, linewidth=0.8)


def _figures(canvas: Any, rows: pd.DataFrame, *, ages: bool) -> None:
    """Write score and, where there is room for them, ages in columns at the right."""
    columns = [("score", [labels.share(value) for value in frames.numbers(rows, "score")])]
    if ages and "age_hours" in rows.columns:
        days = frames.numbers(rows, "age_hours") / HOURS_PER_DAY
        columns.append(("age", [labels.duration(float(day)) for day in days]))
    layout.columns_beside(
        canvas, [(name, 34 + 46 * i, texts) for i, (name, texts) in enumerate(columns)]
    )


def _formula(weights: tuple[float, ...], own: Sequence[_OwnTerm], *, updates: bool) -> str:
    relevance = _sum([(1.0, "relevance"), *((t.weight, t.name) for t in own if t.decays)])
    relevance = f"({relevance})" if any(term.decays for term in own) else "relevance"
    relevance += " · freshness · decay" if updates else " · decay"
    terms = [*zip(weights, (relevance, "importance", "recency"), strict=True)]
    return _sum([*terms, *((term.weight, term.name) for term in own if not term.decays)])


def _sum(terms: Sequence[tuple[float, str]]) -> str:
    told = [name if w == 1 and name == "relevance" else f"{w:g} · {name}" for w, name in terms if w]
    return " + ".join(told).replace("+ -", "− ") or "0"


def _short(content: str, doc_id: str, widest: int) -> str:
    text = style.drawable(" ".join(content.split()))
    if text.count("□") > len(text) / 2:
        text = f"[{doc_id}]"
    return text if len(text) <= widest else text[: widest - 1].rstrip() + "…"
