"""A ranking drawn as HTML: no picture library, so that it follows a slider."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from nousmem.entry import Entry
from nousmem.scoring import Scoring, half_life_days
from nousmem.viz._own_parts import part_name
from nousmem.viz.explorer._rankings import LegPlace, Missing, Ranking, Row, TermPart, movement
from nousmem.viz.explorer._theme import OWN_LOOKS
from nousmem.viz.plots.labels import duration, share

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "badges",
    "decay_in_words",
    "explanation",
    "missing_choice",
    "outsider_explanation",
    "ranking_table",
    "row_choice",
    "shortened",
    "side_by_side",
]

_LONGEST: Final = 300
_NARROW: Final = "\u202f"
"""Between a number and its unit: they stay on one line."""
_BUILT_IN: Final = ("relevance", "importance", "recency")


def ranking_table(ranking: Ranking, *, caption: str, hint: str = "") -> str:
    """Return the whole ranking: hits, what decay pushed out, relevant entries not shown.

    Args:
        ranking: The ranking.
        caption: Over it: the question.
        hint: What may be done where nothing is found.
    """
    top = (
        max(
            (
                sum(map(_positive, row.contributions.values()))
                + _positive(row.lost)
                + _positive(row.outdone)
            )
            for row in ranking.rows
        )
        if ranking.rows
        else 1.0
    )
    terms = _terms(ranking.rows)
    looks = _looks(ranking.own_terms)
    rows = "".join(_row(row, top=top, terms=terms, looks=looks) for row in ranking.rows)
    found = sum(row.relevant for row in ranking.rows)
    counted = (
        f" · {found} of {ranking.n_relevant} relevant entries shown" if ranking.n_relevant else ""
    )
    body = (
        f"<table><thead><tr><th scope='col'>Rank</th><th scope='col'>Change</th>"
        f"<th scope='col' style='width:32%'>Score and its parts</th>"
        f"<th scope='col'>Memory</th></tr></thead><tbody>{rows}</tbody></table>"
        if rows
        else f"<p><b>Nothing is found.</b> {html.escape(hint)}</p>"
    )
    keys = _keys(ranking.rows, terms, looks) if rows else ""
    return (
        f"<div class='nmx'><h3>{html.escape(shortened(caption))}</h3>"
        f"<p class='dim'>{len(ranking.rows)} of {ranking.n_candidates} candidates{counted}"
        f"{keys}</p>{body}{_suppressed(ranking.suppressed)}"
        f"{_missing(ranking.missing)}</div>"
    )


def side_by_side(
    left: tuple[str, str], right: tuple[str, str], *, note: str = "", wide: bool = False
) -> str:
    """Return two blocks of HTML beside each other, each under its (plain) title.

    Args:
        left: Title and block.
        right: Likewise.
        note: What is to be known of both, under them.
        wide: Whether they need much room; where there is less, they stand under each other.
    """
    blocks = "".join(
        f"<div><h3>{html.escape(title)}</h3>{body}</div>" for title, body in (left, right)
    )
    below = f"<p class='dim'>{html.escape(note)}</p>" if note else ""
    kind = "side wide" if wide else "side"
    return f"<div class='nmx'><div class='{kind}'>{blocks}</div>{below}</div>"


def row_choice(row: Row) -> str:
    """Return a hit as one line of a list."""
    mark = "● " if row.relevant else ""
    return f"#{row.rank}  {mark}{shortened(row.entry.content, 70)}"


def missing_choice(one: Missing) -> str:
    """Return a relevant entry that no leg found as one line of a list."""
    return f"not found  ● {one.doc_id}"


def explanation(row: Row, other: Row | None, scoring_text: str, *, why: str = "") -> str:
    """Return how an entry's score comes about, beside that of a hit.

    Args:
        row: The entry.
        other: The hit it is compared with; None: there is none.
        scoring_text: How age is counted, in words.
        why: Why the entry is no hit, as `Hits.why` says it; "" for a hit.
    """
    rows = [row] if other is None else [row, other]
    lines = [
        *(
            (_leg_title(leg), [_leg_place(one.legs[at]) for one in rows])
            for at, leg in enumerate(row.legs)
        ),
        *_relevance_lines(row, rows),
        *(
            (f"{html.escape(part.term)} × {part.weight:g}", [_added(one, part) for one in rows])
            for part in row.parts
            if not part.decays
        ),
        ("score", [f"<b>{_figure(one.score)}</b>" for one in rows]),
    ]
    heads = "".join(f"<th scope='col' class='num'>#{one.rank}</th>" for one in rows)
    body = "".join(
        f"<tr><th scope='row'>{name}</th>"
        + "".join(f"<td class='num'>{value}</td>" for value in values)
        + "</tr>"
        for name, values in lines
    )
    reason = f"<p><b>No hit:</b> {html.escape(why)}.</p>" if why else ""
    return (
        f"<div class='nmx'>{reason}<p>{_verdict(row, other)}</p>"
        f"<table style='max-width:430px'><thead><tr><th scope='col'>Term</th>{heads}</tr></thead>"
        f"<tbody>{body}</tbody></table><p class='dim'>{html.escape(scoring_text)}</p></div>"
    )


def outsider_explanation(explained: pd.DataFrame) -> str:
    """Return why an entry that is no candidate is none, and what its score would be made of.

    Args:
        explained: As `Hits.explain` returns it.
    """
    records = cast("list[dict[str, Any]]", explained.to_dict("records"))
    rows = "".join(
        f"<tr><th scope='row'>{html.escape(one['term'])}</th>"
        f"<td class='num'>{_figure(one['value'])}</td><td class='num'>{one['weight']:g}</td>"
        f"<td class='num'>{_figure(one['contribution'])}</td>"
        f"<td class='text dim'>{html.escape(one['detail'])}</td></tr>"
        for one in records
    )
    heads = "".join(f"<th scope='col' class='num'>{one}</th>" for one in ("Value", "Weight", "="))
    table = (
        f"<table><thead><tr><th scope='col'>Term</th>{heads}<th scope='col'>Made of</th></tr>"
        f"</thead><tbody>{rows}</tbody></table>"
        if rows
        else ""
    )
    why = html.escape(str(explained.attrs["why"]))
    return f"<div class='nmx'><p><b>No hit:</b> {why}.</p>{table}</div>"


def _relevance_lines(row: Row, rows: Sequence[Row]) -> list[tuple[str, list[str]]]:
    """Return how relevance comes about, and what freshness and age leave of it."""
    fused, *own = [part for part in row.parts if part.decays]
    # A term that age takes from weighs what it does within relevance times that one's weight.
    weights = [part.weight / row.w_relevance if row.w_relevance else 0.0 for part in own]
    return [
        ("relevance, the legs fused", [share(_part(one, fused.term).raw) for one in rows]),
        *(
            (
                f"+ {html.escape(part.term)} × {weight:g}",
                [share(_part(one, part.term).raw * weight) for one in rows],
            )
            for part, weight in zip(own, weights, strict=True)
        ),
        *(
            [("× beside updates", [share(one.freshness) for one in rows])]
            if any(one.freshness != 1 for one in rows)
            else []
        ),
        ("age", [_age(one) for one in rows]),
        ("× share that age leaves", [share(one.decay) for one in rows]),
        ("× weight of relevance", [f"{one.w_relevance:g}" for one in rows]),
        (
            "= relevance counts",
            [_figure(sum(part.contribution for part in one.parts if part.decays)) for one in rows],
        ),
    ]


def _part(row: Row, term: str) -> TermPart:
    return next(part for part in row.parts if part.term == term)


def _added(row: Row, part: TermPart) -> str:
    return _figure(_part(row, part.term).contribution)


def _leg_title(leg: LegPlace) -> str:
    weight = "" if leg.weight == 1 else f" × {leg.weight:g}"
    return f"{html.escape(leg.name)} leg{weight}"


def _leg_place(leg: LegPlace) -> str:
    score = "" if math.isnan(leg.score) else f" ({leg.score:.3g})"
    return _place(leg.rank) + (score if leg.rank else "")


def decay_in_words(scoring: Scoring) -> str:
    """Return how age counts, as a sentence."""
    if not isinstance(scoring.decay_curve, str):
        return f"Decay is {part_name(scoring.decay_curve)}, at {scoring.decay_lambda:g} per hour."
    if scoring.decay_lambda == 0:
        return "Decay is off: age takes nothing from relevance."
    days = half_life_days(scoring.decay_lambda)
    floor = f" and a floor of {scoring.decay_floor:g}" if scoring.decay_floor else ""
    return f"Decay is {scoring.decay_curve}, with a half-life of {duration(days)}{floor}."


def shortened(text: str, longest: int = _LONGEST) -> str:
    """Return a text in one line, cut where it is too long to read in passing."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def badges(grade: int | None, mark: str) -> str:
    """Return what is known of an entry beforehand, as symbols with words."""
    found: list[str] = []
    if grade:
        found.append("● relevant" if grade == 1 else f"● relevant ({grade})")
    elif grade == 0:
        found.append("○ judged not relevant")
    if mark == "newest":
        found.append("↑ newest")
    elif mark == "outdated":
        found.append("✕ outdated")
    return " ".join(f"<span class='badge'>{one}</span>" for one in found)


def _terms(rows: Sequence[Row]) -> list[str]:
    """Return the terms of the score that count in some row; one without weight does not."""
    counted = {part.term: part.weight for row in rows for part in row.parts if part.weight}
    return [*counted]


def _looks(own_terms: Sequence[str]) -> dict[str, str]:
    """Return the class of each term: those of one's own have their looks in turn."""
    own = {name: f"own{at % OWN_LOOKS}" for at, name in enumerate(own_terms)}
    return {name: name for name in _BUILT_IN} | own


def _row(row: Row, *, top: float, terms: Sequence[str], looks: dict[str, str]) -> str:
    moved = movement(row.rank, row.before)
    was = "not among the hits before" if row.before is None else f"rank {row.before} before"
    parts = row.contributions
    figures = " + ".join(f"{_figure(parts.get(term, 0.0))}" for term in terms)
    spoken = html.escape(", ".join(f"{term} {_figure(parts.get(term, 0.0))}" for term in terms))
    kind = " class='relevant'" if row.relevant else ""
    return (
        f"<tr{kind}><td><b>{row.rank}</b></td><td title='{was}'>{moved}</td>"
        f"<td><b>{_figure(row.score)}</b> <span class='dim'>= {figures}</span>"
        f"<div class='bar' role='img' aria-label='{spoken}; age took {_figure(row.lost)}' "
        f"title='{spoken}; age took {_figure(row.lost)}'>{_bar(row, top, looks)}</div></td>"
        f"<td class='text'><div dir='auto'>{html.escape(shortened(row.entry.content))}</div>"
        f"<div class='dim'>{badges(row.grade, row.mark)} {_circumstances(row)}</div></td></tr>"
    )


def _bar(row: Row, top: float, looks: dict[str, str]) -> str:
    """Return what the score is made of, and after that what was taken from it.

    So the bars, up to where something was taken, are as long as the scores.
    """
    lengths = [(looks[term], _positive(value)) for term, value in row.contributions.items()]
    lengths += [("lost", _positive(row.lost)), ("outdone", _positive(row.outdone))]
    return "".join(
        f"<span class='{look}' style='width:{100 * length / top:.2f}%'></span>"
        for look, length in lengths
        if length / top > 0.0005
    )


def _keys(rows: Sequence[Row], terms: Sequence[str], looks: dict[str, str]) -> str:
    keys = "".join(f"<span class='key {looks[term]}'></span>{html.escape(term)}" for term in terms)
    if any(row.lost > 0 for row in rows):
        keys += "<span class='key lost'></span>taken by age"
    if any(row.outdone > 0 for row in rows):
        keys += "<span class='key outdone'></span>taken by newer memories"
    return f"<br>Score ={keys}"


def _circumstances(row: Row) -> str:
    entry = row.entry
    legs = [f"{html.escape(leg.name)} {_place(leg.rank)}" for leg in row.legs if leg.rank]
    parts = [
        f"{_age(row)} old",
        "evergreen" if entry.evergreen else f"age leaves {_percent(row.decay)}",
        *_beside_updates(row),
        *legs,
        str(entry.type),
        f"<span class='id'>{html.escape(entry.id)}</span>",
    ]
    return " · ".join(parts)


def _beside_updates(row: Row) -> list[str]:
    if row.freshness == 1:
        return []
    percent = _percent(abs(1 - row.freshness))
    took = f"newer memories take {percent}" if row.freshness < 1 else f"older ones give {percent}"
    return [took]


def _suppressed(rows: Iterable[Row]) -> str:
    items = "".join(
        f"<li>would be #{row.rank}: <bdi>{html.escape(shortened(row.entry.content, 110))}</bdi> "
        f"{badges(row.grade, row.mark)} <span class='dim'>{_age(row)} old, "
        f"age leaves {_percent(row.decay)}</span></li>"
        for row in rows
    )
    return f"<h3>Pushed out by decay</h3><ul>{items}</ul>" if items else ""


def _missing(missing: Iterable[Missing]) -> str:
    items = "".join(
        f"<li>{_whereabouts(one)}: <bdi>{html.escape(_content(one.entry, one.doc_id))}</bdi> "
        f"{badges(one.grade, one.mark)}</li>"
        for one in missing
    )
    return f"<h3>Relevant and not shown</h3><ul>{items}</ul>" if items else ""


def _whereabouts(one: Missing) -> str:
    if one.rank is not None:
        return f"#{one.rank} of the candidates"
    return "not found by any leg (a larger depth may find it)"


def _content(entry: Entry | None, doc_id: str) -> str:
    return doc_id if entry is None else shortened(entry.content, 110)


def _verdict(row: Row, other: Row | None) -> str:
    if other is None:
        return f"#{row.rank} stands alone."
    own, theirs = row.contributions, other.contributions
    gaps = {term: value - theirs.get(term, 0.0) for term, value in own.items()}
    gap = row.score - other.score
    side = "above" if row.rank < other.rank else "below"
    if abs(gap) < 1e-12:
        return f"#{row.rank} and #{other.rank} score the same; the greater id stands first."
    deciding = max(gaps, key=lambda term: gaps[term] * (1 if gap > 0 else -1))
    return (
        f"#{row.rank} stands {_figure(abs(gap))} {side} #{other.rank}, chiefly by "
        f"{html.escape(deciding)} "
        f"({share(gaps[deciding], signed=True)})."
    )


def _place(rank: int) -> str:
    return f"#{rank}" if rank else "not found"


def _age(row: Row) -> str:
    return duration(row.age_days).replace(" ", _NARROW)


def _percent(part: float) -> str:
    return f"{100 * part:.0f}{_NARROW}%"


def _figure(value: float) -> str:
    return share(value)


def _positive(value: float) -> float:
    return max(0.0, value)
