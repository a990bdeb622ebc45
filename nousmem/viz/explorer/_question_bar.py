"""The widgets of the question, at the head of the ranking explorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from nousmem.viz._widgets import load_widgets
from nousmem.viz.explorer._sources import Source

__all__ = ["QuestionBar"]

_LIMITS: Final = (3, 5, 10, 15, 20, 30)


@dataclass(frozen=True, slots=True, eq=False)
class QuestionBar:
    """Widgets, made and arranged; what they do is the explorer's."""

    source: Any
    find: Any
    query: Any
    own: Any
    scope: Any
    as_of: Any
    limit: Any
    matches: Any
    """How many queries were found."""
    rows: tuple[Any, ...]
    """All of them as they stand on the page."""

    @classmethod
    def of(cls, sources: Sequence[Source], *, limit: int) -> QuestionBar:
        """Return the widgets for a choice of sources and a number of hits."""
        widgets = load_widgets("exploring in a notebook")

        def full(kind: Any, flex: str, **options: Any) -> Any:
            return kind(
                style={"description_width": "70px"},
                layout={"width": "98%", "flex": flex, "min_width": "0"},
                **options,
            )

        def beside(*parts: Any) -> Any:
            return widgets.HBox(parts, layout={"flex_flow": "row wrap", "width": "100%"})

        source = full(
            widgets.Dropdown,
            "1 1 200px",
            description="Memories",
            options=[(source.name, at) for at, source in enumerate(sources)],
        )
        source.layout.display = None if len(sources) > 1 else "none"
        find = full(
            widgets.Text, "1 1 280px", description="Find", placeholder="words, a category or an id"
        )
        query = full(widgets.Dropdown, "3 1 420px", description="Query")
        own = full(
            widgets.Text,
            "3 1 260px",
            description="Or ask",
            placeholder="a question of your own, then Enter",
            continuous_update=False,
        )
        scope = full(widgets.Dropdown, "2 1 190px", description="Scope")
        as_of = full(
            widgets.NaiveDatetimePicker,
            "2 1 270px",
            description="As of, UTC",
            tooltip="Later memories are invisible; ages are counted from here",
        )
        as_of.add_class("nmx-picker")
        hits = full(
            widgets.Dropdown,
            "0 1 130px",
            description="Hits",
            options=sorted({*_LIMITS, limit}),
            value=limit,
        )
        matches = widgets.HTML()
        rows = (beside(source, find, query), matches, beside(own, scope, as_of, hits))
        return cls(source, find, query, own, scope, as_of, hits, matches, rows)
