"""What a search returns: a ranking that can say why it is as it is."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from nousmem.checks import check_number
from nousmem.entry import Entry
from nousmem.errors import InvalidParameter
from nousmem.retrieval._explaining import Unfound, addends_frame
from nousmem.retrieval.candidates import Candidates, ScoreParts, score_candidates
from nousmem.retrieval.evidence import Evidence, asks_no_evidence
from nousmem.retrieval.settings import Settings
from nousmem.scoring import Scoring, score_order

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Floor", "Hit", "Hits"]


@dataclass(frozen=True, slots=True)
class Floor:
    """The evidence an entry needs to be a hit, whatever its rank; see `Evidence`."""

    min_words: float = 0.0
    min_cosine: float = -1.0

    @classmethod
    def checked(cls, *, min_words: float, min_cosine: float) -> Floor:
        """Return the floor.

        Raises:
            InvalidParameter: a value is not a finite number.
        """
        return cls(check_number("min_words", min_words), check_number("min_cosine", min_cosine))

    def reached(self, candidates: Candidates) -> NDArray[np.bool_]:
        """Return which candidates reach it, shape (n,)."""
        everything = np.arange(len(candidates), dtype=np.intp)
        if asks_no_evidence(min_words=self.min_words, min_cosine=self.min_cosine):
            return np.ones(len(candidates), dtype=np.bool_)
        return Evidence.of(candidates.query, candidates).shown(
            everything, min_words=self.min_words, min_cosine=self.min_cosine
        )


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
        settings: What the ranking was made with.
        candidates: Everything the legs returned, ranked or not.
        parts: The score parts of the candidates, in their order.
    """

    def __init__(
        self,
        candidates: Candidates,
        settings: Settings,
        *,
        now: datetime,
        limit: int | None,
        min_score: float | None = None,
        floor: Floor = Floor(),  # frozen
        unfound: Callable[[str], Unfound] | None = None,
    ) -> None:
        self.query = candidates.query
        self.now = now
        self.settings = settings
        self.candidates = candidates
        self.parts: ScoreParts = score_candidates(candidates, settings.scoring)
        self._limit = limit
        self._min_score = settings.scoring.min_score if min_score is None else min_score
        self._reached = floor.reached(candidates)
        self._unfound = unfound
        self._ranked = self._shown(self.parts)
        self._hits = _hits(candidates, self.parts, self._ranked)

    @property
    def scoring(self) -> Scoring:
        """How the candidates were weighed."""
        return self.settings.scoring

    @property
    def degraded(self) -> str | None:
        """Why the vector leg is missing though it was asked for; None when it is not."""
        return self.candidates.degraded

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
        parts = score_candidates(self.candidates, self._without_age())
        shown = {hit.entry.id for hit in self}
        return [
            hit
            for hit in _hits(self.candidates, parts, self._shown(parts))
            if hit.entry.id not in shown
        ]

    def _without_age(self) -> Scoring:
        return self.scoring.replace(
            decay_lambda=0,
            update_rule="freshness",
            update_penalty=0,
            update_takeover=0,
            update_lambda=0,
            w_recency=self.scoring.recency_weight(),
        )

    def _shown(self, parts: ScoreParts, limit: int | None = -1) -> NDArray[np.intp]:
        order = score_order(parts.score)
        kept = order[(parts.score[order] >= self._min_score) & self._reached[order]]
        return kept[: self._limit if limit == -1 else limit]

    def to_frame(self) -> pd.DataFrame:
        """Return the ranking as a table, one hit a row, best first.

        Columns:
            rank: From 1.
            doc_id: The entry's id.
            content: The entry's text.
            score: The composite score.
            text_rank, vector_rank, and of each leg of one's own: Rank, missing where the leg did
                not return it.
            text_score, vector_score, likewise: The leg's own score (vector: cosine).
            relevance: After fusion, with the terms that age takes from; before freshness and decay.
            freshness: What relevance is multiplied by beside updates; 1 where nothing changes.
            age_hours: Hours that decay counts: since last access, or since creation where the
                scoring's `decay_clock` says so.
            decay: Share of relevance that age leaves, 0 to 1.
            importance: 0 to 1.
            recency: exp(-recency_lambda · hours since last access), 0 to 1.
            A column for each term of one's own, whether it has a weight or not.
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
        for row, name in enumerate(candidates.legs):
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
        for term in candidates.terms:
            columns[term.name] = candidates.term_values(term, self.scoring)[rows]
        return pd.DataFrame(columns)

    def explain(self, which: int | str = 1) -> pd.DataFrame:
        """Return what makes up a score, one addend a row.

        Args:
            which: The rank of a hit, from 1; or the id of any entry, whether it is a hit or not.

        Returns:
            Columns: term (relevance, importance, recency, and terms of one's own that have a
            weight), value (of relevance and of what is part of it after freshness and decay),
            weight (the one in force), contribution (value · weight; added up in this order they
            are the score, exactly), detail (in words: ranks and scores in the legs, and what age
            took).
            `attrs` has doc_id, rank (None for what is no hit), score, and why: one sentence that
            says where the entry stands. The table has no row for an entry that no leg finds, or
            that may not be seen.

        Raises:
            InvalidParameter: there is no such rank.
        """
        if isinstance(which, str):
            return self._explain_entry(which)
        if isinstance(which, bool) or not 1 <= which <= len(self):
            raise InvalidParameter(f"rank must be from 1 to {len(self)}, got {which!r}")
        return self._explain_entry(self[which - 1].entry.id)

    def why(self, entry_id: str) -> str:
        """Return one sentence on where an entry stands: a hit, or what keeps it from being one."""
        return str(self.explain(entry_id).attrs["why"])

    def _explain_entry(self, entry_id: str) -> pd.DataFrame:
        candidates, parts = self.candidates, self.parts
        ids = candidates.ids
        if entry_id in ids:
            why, rank = self._standing(ids.index(entry_id))
        else:
            unfound = (
                Unfound("no leg found it") if self._unfound is None else self._unfound(entry_id)
            )
            why, rank = unfound.why, None
            if unfound.candidates is None:
                frame = addends_frame(candidates, parts, self.scoring, 0).iloc[:0] if ids else None
                return self._told(frame, entry_id, None, None, why)
            candidates = unfound.candidates
            parts = score_candidates(candidates, self.scoring)
            at = candidates.ids.index(entry_id)
            place = score_order(parts.score).tolist().index(at) + 1
            why += f", at rank {place} with score {parts.score[at]:.4f}"
        at = candidates.ids.index(entry_id)
        frame = addends_frame(candidates, parts, self.scoring, at)
        return self._told(frame, entry_id, rank, float(parts.score[at]), why)

    def _standing(self, at: int) -> tuple[str, int | None]:
        """Return where a candidate stands, in words, and its rank as a hit."""
        score = self.parts.score[at]
        shown = self._ranked.tolist()
        if at in shown:
            return f"rank {shown.index(at) + 1} of {len(shown)}", shown.index(at) + 1
        if np.isnan(score):
            return "only legs without a weight found it", None
        parts = score_candidates(self.candidates, self._without_age())
        aged = at in self._shown(parts).tolist()
        pushed = "; without decay and updates it would be a hit" if aged else ""
        if not self._reached[at]:
            return "below the floor of evidence: too few of the query's words, and too far", None
        if score < self._min_score:
            return f"below min_score {self._min_score:g}, with {score:.4f}{pushed}", None
        rank = self._shown(self.parts, None).tolist().index(at) + 1
        least = self.parts.score[shown[-1]] if shown else np.nan
        return (
            f"cut: rank {rank}, and the limit is {self._limit}; the last hit has {least:.4f}, it "
            f"has {score:.4f}{pushed}"
        ), None

    @staticmethod
    def _told(
        frame: pd.DataFrame | None, doc_id: str, rank: int | None, score: float | None, why: str
    ) -> pd.DataFrame:
        import pandas as pd

        columns = ["term", "value", "weight", "contribution", "detail"]
        told = pd.DataFrame(columns=columns) if frame is None else frame
        told.attrs.update(doc_id=doc_id, rank=rank, score=score, why=why)
        return told

    def __repr__(self) -> str:
        """Show the ranking in plain text."""
        lines = [f"{len(self)} hits for {self.query!r}, {self.settings!r}"]
        lines += [
            f"{hit.rank:>3}  {hit.score:.4f}  {_shortened(hit.entry.content)}" for hit in self
        ]
        if self.degraded:
            lines.append(f"without vectors: {self.degraded}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        frame["content"] = [_shortened(text) for text in frame["content"]]
        buried = len(self.suppressed)
        notes = [f"{len(self)} hits for “{self.query}”", repr(self.settings)]
        if buried:
            reason = "decay and updates" if self.scoring.prefers_updates() else "decay"
            notes.append(f"{buried} more would rank without {reason}: see hits.suppressed")
        if self.degraded:
            notes.append(f"without vectors: {self.degraded}")
        table = frame.to_html(index=False, float_format="{:.4f}".format, na_rep="")
        return f"<p>{'<br>'.join(map(html.escape, notes))}</p>{table}"


def _hits(candidates: Candidates, parts: ScoreParts, ranked: NDArray[np.intp]) -> list[Hit]:
    scores = parts.score[ranked]
    return [
        Hit(rank + 1, candidates.entries[int(at)], float(scores[rank]))
        for rank, at in enumerate(ranked)
    ]


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"
