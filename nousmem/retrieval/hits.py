"""What a search returns: a ranking that can say why it is as it is."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from nousmem.entry import Entry
from nousmem.errors import InvalidParameter
from nousmem.retrieval.candidates import LEGS, Candidates, ScoreParts, score_candidates
from nousmem.scoring import Scoring, score_order

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Hit", "Hits"]


@dataclass(frozen=True, slots=True)
class Hit:
    """One entry of a ranking."""

    rank: int
    """From 1."""
    entry: Entry
    """The memory, as the store returned it."""
    score: float
    """The composite score."""


class Hits(Sequence[Hit]):
    """The entries found for one query, best first; equal scores by descending id.

    Attributes:
        query: The text searched for.
        now: The instant ages were counted from.
        scoring: The parameters of the ranking.
        candidates: Everything the legs returned, ranked or not.
        parts: The score parts of the candidates, in their order.
        degraded: Why the vector leg is missing though it was asked for; None when it is not.
    """

    def __init__(
        self,
        candidates: Candidates,
        scoring: Scoring,
        *,
        query: str,
        now: datetime,
        limit: int | None,
        min_score: float | None = None,
        degraded: str | None = None,
    ) -> None:
        self.query = query
        self.now = now
        self.scoring = scoring
        self.candidates = candidates
        self.parts: ScoreParts = score_candidates(candidates, scoring, now=now)
        self.degraded = degraded
        self._limit = limit
        self._min_score = scoring.min_score if min_score is None else min_score
        self._ranked = _ranked(self.parts, limit, self._min_score)
        self._hits = _hits(candidates, self.parts, self._ranked)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> list[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | list[Hit]:
        return self._hits[index]

    def __len__(self) -> int:
        return len(self._hits)

    @property
    def suppressed(self) -> list[Hit]:
        """What decay and updates pushed out: what would be hits without them, all else equal.

        Ranks and scores are those with decay, `update_penalty`, `update_takeover` and
        `update_lambda` at 0.
        """
        undecayed = self.scoring.replace(
            decay_lambda=0,
            update_penalty=0,
            update_takeover=0,
            update_lambda=0,
            w_recency=self.scoring.recency_weight(),
        )
        parts = score_candidates(self.candidates, undecayed, now=self.now)
        shown = {hit.entry.id for hit in self}
        undecayed_hits = _hits(self.candidates, parts, _ranked(parts, self._limit, self._min_score))
        return [hit for hit in undecayed_hits if hit.entry.id not in shown]

    def to_frame(self) -> pd.DataFrame:
        """Return the ranking as a table, one hit a row, best first.

        Columns:
            rank: From 1.
            doc_id: The entry's id.
            content: The entry's text.
            score: The composite score.
            text_rank, vector_rank: Rank in each leg, missing where the leg did not return it.
            text_score, vector_score: The leg's own score (vector: cosine), missing likewise.
            relevance: After fusion, before freshness and decay.
            freshness: What relevance is multiplied by beside updates; 1 where nothing changes.
            age_hours: Hours that decay counts: since last access, or since creation where the
                scoring's `decay_clock` says so.
            decay: Share of relevance that age leaves, 0 to 1.
            importance: 0 to 1.
            recency: exp(-recency_lambda · hours since last access), 0 to 1.
        """
        import pandas as pd

        rows = self._ranked
        candidates, parts = self.candidates, self.parts
        columns: dict[str, object] = {
            "rank": range(1, len(self) + 1),
            "doc_id": [hit.entry.id for hit in self],
            "content": [hit.entry.content for hit in self],
            "score": parts.score[rows],
        }
        for row, name in enumerate(LEGS):
            ranks = candidates.ranks[row, rows]
            columns[f"{name}_rank"] = pd.Series(ranks, dtype="Int64").mask(ranks == 0)
            columns[f"{name}_score"] = candidates.leg_scores[row, rows]
        for name in (
            "relevance",
            "freshness",
            "age_hours",
            "decay",
            "importance",
            "recency",
        ):
            columns[name] = getattr(parts, name)[rows]
        return pd.DataFrame(columns)

    def explain(self, rank: int = 1) -> pd.DataFrame:
        """Return what makes up the score of the hit at `rank` (from 1), one term a row.

        Columns:
            term: relevance, importance, recency.
            value: The term; relevance after freshness and decay.
            weight: Its weight in force.
            contribution: value · weight; the contributions add up to the score exactly.

        Raises:
            InvalidParameter: there is no such rank.
        """
        import pandas as pd

        if not 1 <= rank <= len(self):
            raise InvalidParameter(f"rank must be from 1 to {len(self)}, got {rank!r}")
        at = self._ranked[rank - 1]
        parts = self.parts
        values = (
            parts.relevance[at] * parts.freshness[at] * parts.decay[at],
            parts.importance[at],
            parts.recency[at],
        )
        weights = self.scoring.weights()
        return pd.DataFrame(
            {
                "term": ["relevance", "importance", "recency"],
                "value": values,
                "weight": weights,
                "contribution": np.multiply(values, weights),
            }
        )

    def __repr__(self) -> str:
        """Show the ranking in plain text."""
        lines = [f"{len(self)} hits for {self.query!r}, {self.scoring!r}"]
        lines += [
            f"{hit.rank:>3}  {hit.score:.4f}  {_shortened(hit.entry.content)}" for hit in self
        ]
        if self.degraded:
            lines.append(f"text leg only: {self.degraded}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        frame["content"] = [_shortened(text) for text in frame["content"]]
        buried = len(self.suppressed)
        notes = [f"{len(self)} hits for “{self.query}”", repr(self.scoring)]
        if buried:
            reason = "decay and updates" if self.scoring.prefers_updates() else "decay"
            notes.append(f"{buried} more would rank without {reason}: see hits.suppressed")
        if self.degraded:
            notes.append(f"text leg only: {self.degraded}")
        table = frame.to_html(index=False, float_format="{:.4f}".format, na_rep="")
        return f"<p>{'<br>'.join(map(html.escape, notes))}</p>{table}"


def _ranked(parts: ScoreParts, limit: int | None, min_score: float) -> NDArray[np.intp]:
    order = score_order(parts.score)
    return order[parts.score[order] >= min_score][:limit]


def _hits(candidates: Candidates, parts: ScoreParts, ranked: NDArray[np.intp]) -> list[Hit]:
    scores = parts.score[ranked]
    return [
        Hit(rank + 1, candidates.entries[int(at)], float(scores[rank]))
        for rank, at in enumerate(ranked)
    ]


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"
