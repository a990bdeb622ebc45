"""One entry of a ranking taken apart, beside a hit: a hit itself, or one that is none."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nousmem.errors import NousmemError
from nousmem.retrieval.hits import Hits
from nousmem.viz._widgets import load_widgets
from nousmem.viz.explorer._rankings import Ranking, Row
from nousmem.viz.explorer.ranking_html import (
    decay_in_words,
    explanation,
    missing_choice,
    outsider_explanation,
    row_choice,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ExplainPanel"]


class ExplainPanel:
    """A list of the entries, and why the chosen one stands where it stands.

    Listed are the hits, then the candidates that are none, then what is relevant and was not
    found.

    Args:
        explain: Takes the id of an entry that is no candidate, and returns what `Hits.explain`
            returns of it.

    Attributes:
        widget: Both.
        choice: The list; its values are the ranks of hits, and the ids of other entries.
    """

    def __init__(self, explain: Callable[[str], pd.DataFrame]) -> None:
        widgets = load_widgets("exploring in a notebook")
        self.choice = widgets.Dropdown(
            description="Explain",
            style={"description_width": "70px"},
            layout={"width": "98%"},
        )
        self._text = widgets.HTML()
        self.widget = widgets.VBox([self.choice, self._text])
        self._explain = explain
        self._ranking: Ranking | None = None
        self._hits: Hits | None = None
        self._busy = False
        self.choice.observe(self._chosen, "value")

    def show(self, ranking: Ranking | None, hits: Hits | None = None) -> None:
        """Take another ranking apart, at the same rank or entry as before.

        Args:
            ranking: The ranking; None: there is none.
            hits: What it was made of.
        """
        self._ranking, self._hits = ranking, hits
        options = [] if ranking is None else _options(ranking)
        if list(self.choice.options) != options:
            kept = self.choice.value
            self._busy = True
            try:
                self.choice.options = options
                if ranking is not None and options:
                    self.choice.value = _kept(kept, ranking, [value for _, value in options])
            finally:
                self._busy = False
        self._show()

    def _chosen(self, _: Any) -> None:
        if not self._busy:
            self._show()

    def _show(self) -> None:
        chosen: int | str | None = self.choice.value
        if self._ranking is None or self._hits is None or chosen is None:
            self._text.value = ""
            return
        rows, words = self._ranking.rows, decay_in_words(self._ranking.scoring)
        if isinstance(chosen, int):
            # The first is told from the one below it, every other from the one above it.
            other = rows[chosen - 2] if chosen > 1 else rows[1] if len(rows) > 1 else None
            self._text.value = explanation(rows[chosen - 1], other, words)
            return
        row = next((one for one in self._ranking.further if one.entry.id == chosen), None)
        if row is None:
            self._text.value = self._outsider(chosen)
            return
        last: Row | None = rows[-1] if rows else None
        self._text.value = explanation(row, last, words, why=self._hits.why(chosen))

    def _outsider(self, entry_id: str) -> str:
        try:
            return outsider_explanation(self._explain(entry_id))
        except NousmemError as error:  # a failing callback would only be logged
            return f"<div class='nmx'><p>⚠ {html.escape(str(error))}</p></div>"


def _options(ranking: Ranking) -> list[tuple[str, int | str]]:
    hits: list[tuple[str, int | str]] = [(row_choice(row), row.rank) for row in ranking.rows]
    further = [(f"no hit  {row_choice(row)}", row.entry.id) for row in ranking.further]
    outside = [
        (f"no hit  {missing_choice(one)}", one.doc_id)
        for one in ranking.missing
        if one.rank is None
    ]
    return [*hits, *further, *outside]


def _kept(chosen: int | str | None, ranking: Ranking, values: list[int | str]) -> int | str:
    """Return what to stay at: an entry that has become a hit by its rank, a rank if there is one.

    Where neither is there, the last hit above that rank, or the first of all.
    """
    if chosen is not None and chosen in values:
        return chosen
    if isinstance(chosen, int) and ranking.rows:
        return min(chosen, len(ranking.rows))
    return next((row.rank for row in ranking.rows if row.entry.id == chosen), values[0])
