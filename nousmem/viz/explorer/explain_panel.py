"""One hit of a ranking taken apart, beside its neighbour."""

from __future__ import annotations

from typing import Any

from nousmem.viz.explorer.ranking_html import decay_in_words, explanation, row_choice
from nousmem.viz.explorer.rankings import Ranking
from nousmem.viz.widgets import load_widgets

__all__ = ["ExplainPanel"]


class ExplainPanel:
    """A list of the hits, and why the chosen one stands where it stands.

    Attributes:
        widget: Both.
        choice: The list; its values are ranks.
    """

    def __init__(self) -> None:
        widgets = load_widgets("exploring in a notebook")
        self.choice = widgets.Dropdown(
            description="Explain",
            style={"description_width": "70px"},
            layout={"width": "98%"},
        )
        self._text = widgets.HTML()
        self.widget = widgets.VBox([self.choice, self._text])
        self._ranking: Ranking | None = None
        self._busy = False
        self.choice.observe(self._chosen, "value")

    def show(self, ranking: Ranking | None) -> None:
        """Take another ranking apart, at the same rank as before."""
        self._ranking = ranking
        rows = () if ranking is None else ranking.rows
        options = [(row_choice(row), row.rank) for row in rows]
        if list(self.choice.options) != options:
            kept = self.choice.value or 1
            self._busy = True
            try:
                self.choice.options = options
                if options:
                    self.choice.value = min(kept, len(options))
            finally:
                self._busy = False
        self._show()

    def _chosen(self, _: Any) -> None:
        if not self._busy:
            self._show()

    def _show(self) -> None:
        rank: int | None = self.choice.value
        if self._ranking is None or rank is None:
            self._text.value = ""
            return
        rows = self._ranking.rows
        # The first is told from the one below it, every other from the one above it.
        other = rows[rank - 2] if rank > 1 else rows[1] if len(rows) > 1 else None
        words = decay_in_words(self._ranking.scoring)
        self._text.value = explanation(rows[rank - 1], other, words)
