"""What was in a prompt, what was not, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from nousmem.agent._access import MemoryAccess
from nousmem.agent._capability import InjectionRecord
from nousmem.agent.sessions._session import Session
from nousmem.agent.sessions.transcript import CandidateRecord, Message, Support
from nousmem.entry import Entry
from nousmem.retrieval.candidates import LEGS
from nousmem.retrieval.hits import Hits
from nousmem.retrieval.settings import Injection
from nousmem.scoring import score_order

__all__ = ["Prompt", "candidate_records", "support_of"]

_DIGITS = 6
"""Scores are kept to this many, so that the last bits of a processor do not show."""

_BEST = 8


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model saw in a turn."""

    injections: Sequence[InjectionRecord]
    messages: Sequence[Message]
    """Of this turn."""
    earlier: Sequence[str]
    """Texts of the conversation before it."""
    stored: Sequence[Entry]
    """The store before the turn."""
    access: MemoryAccess

    @property
    def shown(self) -> dict[str, str]:
        """Contents of the memories put before the user's words, by id."""
        return {
            hit.entry.id: hit.entry.content
            for injection in self.injections
            if injection.block is not None
            for hit in injection.block.shown
        }

    @property
    def recalled(self) -> dict[str, str]:
        """Contents of the memories that the tool recall returned, by id."""
        found: dict[str, str] = {}
        for message in self.messages:
            if message.role != "tool" or message.tool != "recall":
                continue
            try:
                result: Any = json.loads(message.text)
            except ValueError:
                continue  # a refusal, in words
            if isinstance(result, dict):
                memories = cast("dict[str, Any]", result).get("memories", [])
                found.update((one["id"], one["content"]) for one in memories)
        return found


def candidate_records(
    record: InjectionRecord, *, named: Sequence[str], session: Session, thresholds: Injection
) -> list[CandidateRecord]:
    """Return what a search looked at: the best, those shown, and those a turn names; by rank.

    Args:
        record: The search.
        named: Ids of memories and facts.
        session: What the facts say.
        thresholds: As they were in force.
    """
    hits = record.ranking
    if hits is None:
        return []
    block = record.block
    shown = {hit.entry.id for hit in (block.shown if block else ())}
    no_room = {hit.entry.id for hit in (block.left_out if block else ())}
    order = [int(at) for at in score_order(hits.parts.score)]
    places = {hits.candidates.entries[at].id: rank for rank, at in enumerate(order, 1)}
    last_shown = max((places[entry_id] for entry_id in shown | no_room), default=0)
    full = len(shown) + len(no_room) >= thresholds.inject_limit
    records: list[CandidateRecord] = []
    for rank, at in enumerate(order, 1):
        entry = hits.candidates.entries[at]
        score = float(hits.parts.score[at])
        meant = any(session.says(one, entry_id=entry.id, content=entry.content) for one in named)
        if np.isnan(score) or not (rank <= _BEST or entry.id in shown or meant):
            continue
        if entry.id in shown:
            why_not = ""
        elif entry.id in no_room:
            why_not = "no room for it in inject_max_tokens"
        elif score < thresholds.inject_min_score:
            left = hits.parts.decay[at]
            why_not = (
                f"score {score:.3f} is below inject_min_score {thresholds.inject_min_score:g}; "
                f"age leaves {left:.0%} of its relevance"
            )
        elif full and rank > last_shown:
            why_not = f"inject_limit {thresholds.inject_limit} was reached"
        else:
            why_not = "too few words of the message in it, and too low a cosine"
        records.append(_record(hits, at, rank=rank, shown=entry.id in shown, why_not=why_not))
    return records


def support_of(
    wanted: str, prompt: Prompt, *, session: Session, candidates: Sequence[CandidateRecord]
) -> Support:
    """Return whether a memory or fact was in a prompt, and where, or why it was not."""
    if _says_it(wanted, prompt.shown, session):
        return Support(wanted=wanted, in_prompt=True, how="injected")
    if _says_it(wanted, prompt.recalled, session):
        return Support(wanted=wanted, in_prompt=True, how="recalled")
    fact = session.facts.get(wanted)
    for text in prompt.earlier:
        said = fact.is_in(text) if fact else session.memories[wanted].content in text
        if said:
            return Support(wanted=wanted, in_prompt=True, how="history")
    why = _why_absent(wanted, prompt, session, candidates)
    return Support(wanted=wanted, in_prompt=False, how="absent", why=why)


def _says_it(wanted: str, contents: Mapping[str, str], session: Session) -> bool:
    return any(
        session.says(wanted, entry_id=entry_id, content=content)
        for entry_id, content in contents.items()
    )


def _why_absent(
    wanted: str, prompt: Prompt, session: Session, candidates: Sequence[CandidateRecord]
) -> str:
    for one in candidates:
        if session.says(wanted, entry_id=one.id, content=one.content):
            return f"rank {one.rank}: {one.why_not}"
    return _why_no_candidate(wanted, prompt, session)


def _why_no_candidate(wanted: str, prompt: Prompt, session: Session) -> str:
    stored = [
        entry
        for entry in prompt.stored
        if session.says(wanted, entry_id=entry.id, content=entry.content)
    ]
    seen = [entry for entry in stored if prompt.access.sees(entry)]
    last = prompt.injections[-1] if prompt.injections else None
    reasons = {
        "no memory in the store says it": not stored,
        "it is another agent's or another user's memory": not seen,
        "it was superseded": all(entry.superseded_at is not None for entry in seen),
        "nothing was searched for": last is None,
        "the search failed": last is not None and last.error is not None,
        "no word of the message means anything, so nothing was searched for": last is not None
        and last.ranking is None,
        "the search did not find it": True,
    }
    return next(reason for reason, holds in reasons.items() if holds)


def _record(hits: Hits, at: int, *, rank: int, shown: bool, why_not: str) -> CandidateRecord:
    candidates, parts = hits.candidates, hits.parts
    entry = candidates.entries[at]
    legs: dict[str, Any] = {f"{name}_{what}": None for name in LEGS for what in ("rank", "score")}
    own: dict[str, float | None] = {}
    for row, name in enumerate(candidates.legs):
        found = int(candidates.ranks[row, at])
        columns = legs if name in LEGS else own
        columns[f"{name}_rank"] = found or None
        columns[f"{name}_score"] = (
            round(float(candidates.leg_scores[row, at]), _DIGITS) if found else None
        )
    for term in candidates.terms:
        values = candidates.term_values(term, hits.scoring)
        own[term.name] = round(float(values[at]), _DIGITS)
    return CandidateRecord(
        id=entry.id,
        content=entry.content,
        type=entry.type.value,
        created_at=entry.created_at,
        shown=shown,
        why_not=why_not,
        rank=rank,
        score=round(float(parts.score[at]), _DIGITS),
        relevance=round(float(parts.relevance[at]), _DIGITS),
        age_hours=round(float(parts.age_hours[at]), 3),
        decay=round(float(parts.decay[at]), _DIGITS),
        importance=round(float(parts.importance[at]), _DIGITS),
        recency=round(float(parts.recency[at]), _DIGITS),
        own=own,
        **legs,
    )
