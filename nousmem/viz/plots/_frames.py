"""What the pictures ask of a table before they draw it: columns, numbers, one row a place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import InvalidParameter, suggestion
from nousmem.retrieval.settings import RETRIEVAL_PARAMETERS
from nousmem.scoring import PARAMETERS, own_weight
from nousmem.viz.plots.labels import is_measure, values_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["best_rows", "decay_column", "lines", "numbers", "require", "require_rows"]

GROUPS: Final = ("category", "query_id", "fold", "measure")
"""Columns over which a maximum would mix different questions."""


def require(frame: object, columns: Sequence[str], *, source: str) -> pd.DataFrame:
    """Return the table once it is one and has these columns.

    Args:
        frame: What the caller gave.
        columns: Names that must be there.
        source: Where such a table comes from, for the message.

    Raises:
        InvalidParameter: it is no DataFrame, or a column is missing.
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise InvalidParameter(
            f"expected a pandas DataFrame, such as {source}, got {type(frame).__name__}"
        )
    known = [str(name) for name in frame.columns]
    for name in columns:
        if name not in known:
            hint = suggestion(name, known) or "."
            raise InvalidParameter(
                f"the frame has no column {name!r}{hint} "
                f"Columns: {', '.join(known) or 'none'}; expected a table such as {source}"
            )
    return frame


def decay_column(frame: object, column: str) -> str:
    """Return the column that a rate of decay stands in: half_life_days where those were tried."""
    known = [str(name) for name in getattr(frame, "columns", ())]
    if column == "decay_lambda" and column not in known and "half_life_days" in known:
        return "half_life_days"
    return column


def require_rows(frame: pd.DataFrame, *, source: str) -> pd.DataFrame:
    """Return the table with its rows numbered from 0, once it has any.

    Raises:
        InvalidParameter: it is empty.
    """
    if frame.empty:
        raise InvalidParameter(f"the frame has no rows to draw; expected a table such as {source}")
    return frame.reset_index(drop=True)


def numbers(frame: pd.DataFrame, column: str) -> NDArray[np.float64]:
    """Return a column as float64, None as NaN.

    Raises:
        InvalidParameter: a value is not a number.
    """
    values: list[Any] = frame[column].tolist()
    try:
        return np.array([np.nan if v is None else float(v) for v in values], dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(
            f"the column {column!r} must hold numbers, got {values[0]!r} and others"
        ) from None


def is_text(frame: pd.DataFrame, column: str) -> bool:
    """Return whether a column holds any text."""
    return any(isinstance(value, str) for value in frame[column].tolist())


def lines(frame: pd.DataFrame, by: str | None) -> list[tuple[str, pd.DataFrame]]:
    """Return the rows of each value of a column, with its text, in order of appearance.

    None is a single line without a name.
    """
    if by is None:
        return [("", frame)]
    parts: list[tuple[Any, pd.DataFrame]] = list(frame.groupby(by, sort=False, dropna=False))
    if is_text(frame, by):
        return [(str(value), part) for value, part in parts]
    values = [float(numbers(part, by)[0]) for _, part in parts]
    return [(text, part) for text, (_, part) in zip(values_of(by, values), parts, strict=True)]


def best_rows(
    frame: pd.DataFrame, keys: Sequence[str], measure: str
) -> tuple[pd.DataFrame, list[str]]:
    """Return the row with the largest measure for each combination of keys.

    Rows without a measure are left out; of equal ones the first stays.

    Args:
        frame: One row a setting.
        keys: Columns that say where a row is drawn.
        measure: Column to be large.

    Returns:
        The rows, and the names of the parameters the maximum was taken over.

    Raises:
        InvalidParameter: rows of one place differ in a column that names different questions,
            such as category; or no row has a measure.
    """
    values = numbers(frame, measure)
    frame = frame.assign(**{measure: values})[~np.isnan(values)].reset_index(drop=True)
    if frame.empty:
        raise InvalidParameter(f"the column {measure!r} has no value in any row")
    groups: Any = frame.groupby(list(keys), dropna=False, sort=False)
    if len(groups) == len(frame):
        return frame, []
    others: list[str] = []
    for name in map(str, frame.columns):
        if name in keys or name == measure or is_measure(name):
            continue
        known = name in (*PARAMETERS, *RETRIEVAL_PARAMETERS, *GROUPS) or own_weight(name)
        if not known and not is_text(frame, name):
            continue
        if groups[name].nunique(dropna=False).max() > 1:
            others.append(name)
    for name in others:
        if name in GROUPS:
            raise InvalidParameter(
                f"the frame holds several values of {name!r} for one place in the picture: "
                f"select one, for example frame[frame[{name!r}] == {frame[name].iloc[0]!r}]"
            )
    # A half-life restates its rate.
    if "decay_lambda" in others and "half_life_days" in others:
        others.remove("half_life_days")
    # In the frame's order, so that of equal rows the picture names the one a sweep calls best.
    best: list[int] = sorted(groups[measure].idxmax().tolist())
    return frame.iloc[best].reset_index(drop=True), others or ["repeated rows"]
