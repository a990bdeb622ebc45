"""A picture of one ranking: what each score is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import InvalidParameter
from nousmem.scoring import Scoring
from nousmem.viz import style
from nousmem.viz.plots import frames, labels

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
LOST: Final = "lost to decay"
WIDEST: Final = 46


def score_parts(
    frame: pd.DataFrame,
    *,
    scoring: Scoring | None = None,
    weights: Sequence[float] | None = None,
    relevant: Iterable[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one ranking as stacked bars, rank 1 at the top: each term's contribution to the score.

    Relevance contributes w_relevance · relevance · freshness · decay. What decay took from it,
    w_relevance · relevance · freshness · (1 - decay), is drawn as an empty bar behind the others.

    Args:
        frame: `hits.to_frame()`, one row a hit. Columns: rank (int, from 1), doc_id, content
            (text), score (the composite), relevance (after fusion, before decay), decay (the
            share left, 0 to 1), importance, recency; optional freshness (1 where it is missing)
            and age_hours, shown in days.
        scoring: The Scoring that the search ran with; None is the default one.
        weights: The weights of relevance, importance and recency, in place of `scoring`.
        relevant: The doc_ids judged relevant, marked with a star.
        ax: Where to draw; None is a new figure.

    Returns:
        The Axes; without any hit it says so.

    Raises:
        InvalidParameter: a column is missing or holds no numbers; both `scoring` and `weights`
            are given, or not three weights; the weights do not give the frame's scores; or
            `relevant` is a single text.
        MissingDependency: matplotlib is not installed.
    """
    source = "hits.to_frame()"
    rows = frames.require(frame, COLUMNS, source=source).sort_values("rank", kind="stable")
    rows = rows.reset_index(drop=True)
    in_force = _weights(scoring, weights)
    parts, lost = _contributions(rows, in_force)
    if isinstance(relevant, str):
        raise InvalidParameter(f"relevant must be several doc_ids, got the text {relevant!r}")
    stars = {str(doc_id) for doc_id in relevant or ()}
    with style.drawing(ax, size=(8.4, min(14.0, 1.5 + 0.36 * max(len(rows), 1)))) as canvas:
        style.dress(canvas, grid="x")
        canvas.set_xlabel(f"score = {_formula(in_force)}")
        if rows.empty:
            canvas.set(xticks=[], yticks=[])
            canvas.text(0.5, 0.5, "no hits", ha="center", va="center", transform=canvas.transAxes)
            return canvas
        _draw_bars(canvas, parts, lost, in_force)
        marks = [str(doc_id) in stars for doc_id in rows["doc_id"].tolist()]
        texts = [
            f"{'★ ' if mark else ''}{_short(str(content), str(doc_id))}  {rank}"
            for mark, content, doc_id, rank in zip(
                marks, *(rows[name].tolist() for name in ("content", "doc_id", "rank")), strict=True
            )
        ]
        style.name_ticks(canvas.yaxis, range(len(rows)), texts)
        for tick, mark in zip(canvas.get_yticklabels(), marks, strict=True):
            tick.set_fontweight("bold" if mark else "normal")
        style.share_ticks(canvas.xaxis)
        canvas.set_ylabel("memory and rank")
        canvas.tick_params(axis="y", length=0)
        canvas.set_ylim(len(rows) - 0.4, -0.6)
        _figures(canvas, rows)
        found = f"★ relevant: {sum(marks)} of {len(stars)} in these {len(rows)} hits"
        style.headline(canvas, "What each score is made of", found if stars else "")
        canvas.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=_below(canvas),
            ncols=4,
            columnspacing=1.6,
            handlelength=2.2,
        )
        return canvas


def _weights(scoring: Scoring | None, weights: Sequence[float] | None) -> tuple[float, ...]:
    if scoring is not None and weights is not None:
        raise InvalidParameter("give scoring or weights, not both")
    if weights is None:
        return (scoring or Scoring()).weights()
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


def _contributions(
    rows: pd.DataFrame, weights: tuple[float, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return shape (3, hits): the terms' contributions; and (hits,): what decay took."""
    relevance, decay, importance, recency, score = (
        frames.numbers(rows, name)
        for name in ("relevance", "decay", "importance", "recency", "score")
    )
    if "freshness" in rows.columns:
        relevance = relevance * frames.numbers(rows, "freshness")
    full = weights[0] * relevance
    parts = np.stack([full * decay, weights[1] * importance, weights[2] * recency])
    wrong = np.abs(parts.sum(axis=0) - score) > 1e-6
    if wrong.any():
        i = int(wrong.argmax())
        raise InvalidParameter(
            f"with the weights {weights} the parts of rank {rows['rank'].iloc[i]} add up to "
            f"{parts[:, i].sum():.4g}, but its score is {score[i]:.4g}: "
            "pass the Scoring that the search ran with"
        )
    return parts, full - parts[0]


def _draw_bars(
    canvas: Any,
    parts: NDArray[np.float64],
    lost: NDArray[np.float64],
    weights: tuple[float, ...],
) -> None:
    y = np.arange(len(lost), dtype=np.float64)
    # Negative weights build to the left of zero.
    ends = {1: np.zeros_like(lost), -1: np.zeros_like(lost)}
    for part, weight, (name, colour, hatch) in zip(parts, weights, TERMS, strict=True):
        if weight == 0:
            continue
        side = 1 if weight > 0 else -1
        canvas.barh(
            y,
            part,
            left=ends[side],
            height=0.66,
            color=colour,
            edgecolor=style.PAPER,
            hatch=hatch,
            linewidth=0.6,
            label=name,
        )
        ends[side] = ends[side] + part
    if np.abs(lost).max() > 1e-9:
        canvas.barh(
            y,
            lost,
            left=ends[1 if weights[0] > 0 else -1],
            height=0.66,
            facecolor="none",
            edgecolor=style.PALETTE[0],
            hatch="xxx",
            alpha=0.55,
            linewidth=0.8,
            linestyle="--",
            label=LOST,
        )
    canvas.axvline(0, color=style.INK, linewidth=0.8)


def _figures(canvas: Any, rows: pd.DataFrame) -> None:
    """Write score and age in columns at the right."""
    columns = [("score", [labels.share(value) for value in frames.numbers(rows, "score")])]
    if "age_hours" in rows.columns:
        ages = frames.numbers(rows, "age_hours") / 24
        columns.append(("age", [labels.duration(float(age)) for age in ages]))
    for i, (name, texts) in enumerate(columns):
        for y, text in [(-0.95, name), *enumerate(texts)]:
            colour = style.MUTED if y < 0 else style.INK
            style.beside(canvas, text, y=y, points=34 + 46 * i, colour=colour)


def _formula(weights: tuple[float, ...]) -> str:
    names = ("relevance · decay", "importance", "recency")
    terms = [f"{w:g} · {name}" for w, name in zip(weights, names, strict=True) if w != 0]
    return " + ".join(terms).replace("+ -", "− ") or "0"


def _short(content: str, doc_id: str) -> str:
    text = style.drawable(" ".join(content.split()))
    if text.count("□") > len(text) / 2:
        text = f"[{doc_id}]"
    return text if len(text) <= WIDEST else text[: WIDEST - 1].rstrip() + "…"


def _below(canvas: Any) -> Any:
    """Return Axes coordinates moved down past the axis label, whatever the Axes' height."""
    from matplotlib.transforms import ScaledTranslation

    down = ScaledTranslation(0, -0.5, canvas.get_figure(root=True).dpi_scale_trans)
    return canvas.transAxes + down
