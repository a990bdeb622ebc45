"""What an agent can do with its memory: remember, recall, forget.

Plain functions, of use without any agent: what they return is what a model is told, plain JSON
values with a `status`. A refusal or a failure is a result as well, `{"status": "error",
"message": …}`, since an exception would end the agent's run.

Source: specification, "Memory Tools".
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from nousmem.agent._access import MemoryAccess
from nousmem.agent._writing import add, remove
from nousmem.checks import check_whole
from nousmem.entry import MemoryType
from nousmem.errors import EntryNotFound, InvalidParameter, NousmemError
from nousmem.retrieval.hits import Hit, Hits
from nousmem.stores.base import TouchStore

__all__ = ["forget", "recall", "remember"]

_LOG = logging.getLogger(__name__)

ToolResult = dict[str, Any]


def remember(
    access: MemoryAccess,
    content: str,
    *,
    type: MemoryType | str = MemoryType.SEMANTIC,
    importance: float = 0.5,
    evergreen: bool = False,
    metadata: Mapping[str, Any] | None = None,
) -> ToolResult:
    """Store a memory under the agent's own scope fields.

    What is known already is not stored a second time (see `nousmem.agent._writing.add`). When the
    embedder fails, the memory is stored without a vector.

    Args:
        access: Whose memory; a `Memory` will do.
        content: What to remember; not blank.
        type: semantic, episodic or procedural.
        importance: 0 to 1.
        evergreen: Exempt from decay.
        metadata: Anything that is JSON.

    Returns:
        status "remembered", with the id, content, type and importance of the entry that holds
        it; or "error" with a message.
    """
    try:
        entry = add(
            access,
            content,
            type=type,
            importance=importance,
            evergreen=evergreen,
            metadata={} if metadata is None else metadata,
        ).entry
    except Exception as error:  # noqa: BLE001  # whatever a store raises, the run goes on
        return _failure("Failed to store memory", error)
    return {
        "status": "remembered",
        "id": entry.id,
        "content": entry.content,
        "type": entry.type.value,
        "importance": entry.importance,
    }


def recall(
    access: MemoryAccess,
    query: str,
    *,
    type: MemoryType | str | None = None,
    limit: int = 5,
    explain: bool = False,
) -> ToolResult:
    """Search the memories in the agent's scope, and count what is returned as accessed.

    Args:
        access: Whose memory; a `Memory` will do. With its `recall_evidence`, only what has to do
            with the query is returned.
        query: What to look for, in words; blank text finds nothing.
        type: Only this memory type.
        limit: At most this many, at least 0.
        explain: Say of each memory what makes up its score, and what age pushed out.

    Returns:
        status "found", the count, and memories, best first: id, content, type, importance, score
        (the composite, to 4 decimals), created_at (ISO 8601, UTC) and metadata; or "error" with
        a message and no memories.

        With `explain` each memory has parts as well: addends (by name, each with value, weight
        and contribution; the contributions added up in their order are the score), legs (by name,
        each with rank and score, or null where the leg did not return it), age_hours, decay (the
        share of relevance that age left) and freshness (what updates left). The result then has
        suppressed: the count and the ids of what would be among the memories without decay and
        updates, and degraded: why it was searched without vectors, or null.
    """
    try:
        limit = check_whole("limit", limit, least=0)
        now = access.now()
        hits = access.look_up(query, now=now, type=type, limit=limit, **access.floor_of_recall())
        told = [{**_shown(hit), **_explained(hits, hit, wanted=explain)} for hit in hits]
        found: ToolResult = {"status": "found", "count": len(hits), "memories": told}
        if explain:
            ids = [hit.entry.id for hit in hits.suppressed]
            found |= {
                "suppressed": {"count": len(ids), "ids": ids},
                "degraded": hits.degraded,
            }
    except Exception as error:  # noqa: BLE001  # whatever a store raises, the run goes on
        return {**_failure("Memory search failed", error), "memories": []}
    if hits:
        _count_access(access, list(hits), now=now)
    return found


def forget(access: MemoryAccess, id: str) -> ToolResult:
    """Erase a memory of the agent's scope, with the history it replaced.

    Args:
        access: Whose memory; a `Memory` will do.
        id: The entry's id, as `recall` returns it.

    Returns:
        status "forgotten" and the id; "not_found", the id and a message when there is no such
        entry in the scope; or "error" with a message.
    """
    try:
        if not isinstance(id, str):
            raise InvalidParameter(f"id must be text, got {id!r}")
        remove(access, id)
    except EntryNotFound:
        message = f"There is no memory with id {id!r}; nothing was forgotten"
        return {"status": "not_found", "id": id, "message": message}
    except Exception as error:  # noqa: BLE001  # whatever a store raises, the run goes on
        return _failure("Failed to forget", error)
    return {"status": "forgotten", "id": id}


def _failure(what: str, error: Exception) -> ToolResult:
    _LOG.warning("%s: %s", what, error, exc_info=not isinstance(error, NousmemError))
    return {"status": "error", "message": f"{what}: {error}"}


def _count_access(access: MemoryAccess, hits: list[Hit], *, now: datetime) -> None:
    store = access.opened_store
    try:
        if isinstance(store, TouchStore):
            store.touch([hit.entry.id for hit in hits], now=now)
            return
        with access.write_lock:
            for hit in hits:
                count = hit.entry.access_count + 1
                store.update(
                    hit.entry.id,
                    now=now,
                    access_count=count,
                    last_accessed_at=now,
                    updated_at=hit.entry.updated_at,  # reading is not changing
                )
    except Exception as error:  # noqa: BLE001  # what was found is worth more than its counter
        _LOG.warning("accesses were not recorded: %s", error)


def _explained(hits: Hits, hit: Hit, *, wanted: bool) -> ToolResult:
    """Return the key `parts` of a memory, if it is wanted; see `recall`."""
    if not wanted:
        return {}
    candidates, parts = hits.candidates, hits.parts
    at = candidates.ids.index(hit.entry.id)
    addends = {
        one.term: {
            "value": float(one.value[at]),
            "weight": float(one.weight),
            "contribution": float(one.weight * one.value[at]),
        }
        for one in parts.addends
    }
    legs = {
        name: {
            "rank": int(candidates.ranks[row, at]),
            "score": float(candidates.leg_scores[row, at]),
        }
        if candidates.ranks[row, at]
        else None
        for row, name in enumerate(candidates.legs)
    }
    return {
        "parts": {
            "addends": addends,
            "legs": legs,
            "age_hours": float(parts.age_hours[at]),
            "decay": float(parts.decay[at]),
            "freshness": float(parts.freshness[at]),
        }
    }


def _shown(hit: Hit) -> ToolResult:
    entry = hit.entry
    return {
        "id": entry.id,
        "content": entry.content,
        "type": entry.type.value,
        "importance": entry.importance,
        "score": round(hit.score, 4),
        "created_at": entry.created_at.isoformat().replace("+00:00", "Z"),
        "metadata": entry.metadata,
    }
