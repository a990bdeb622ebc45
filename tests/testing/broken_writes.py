"""Stores with one fault each in put, update, delete or touch, or in what they keep of it."""

import re
from datetime import datetime
from typing import ClassVar

import numpy as np
from reference_store import ReferenceStore

from nousmem import errors
from nousmem.entry import ENTRY_FIELDS, Entry


class TornPut(ReferenceStore):
    def put(self, entries, /):
        return sum(super(TornPut, self).put([entry]) for entry in entries)


class PutTwiceOverTheSource(ReferenceStore):
    def put(self, entries, /):
        self.check_embeddings(entries)
        return super().put(entries)

    def check_embeddings(self, given):
        super().check_embeddings(list(given))


class PutReturnsNew(ReferenceStore):
    def put(self, entries, /):
        before = len(self.held)
        super().put(entries)
        return len(self.held) - before


class PutRefusesNothing(ReferenceStore):
    def put(self, entries, /):
        given = list(entries)
        if not given:
            raise errors.InvalidParameter
        return super().put(given)


class PutRefusesExisting(ReferenceStore):
    def put(self, entries, /):
        given = list(entries)
        if len({e.id for e in given} - self.held.keys()) < len(given):
            raise errors.StoreError
        return super().put(given)


class FirstOfTwoWins(ReferenceStore):
    def put(self, entries, /):
        given = list(entries)
        super().put({entry.id: entry for entry in reversed(given)}.values())
        return len(given)


class UpsertOfContentOnly(ReferenceStore):
    def put(self, entries, /):
        given = list(entries)
        super().put(
            self.held[e.id].replace(content=e.content, updated_at=e.updated_at)
            if e.id in self.held
            else e
            for e in given
        )
        return len(given)


class TextIndex(ReferenceStore):
    """A correct store with its text in a second place, for faults in keeping both together."""

    def __init__(self, place):
        super().__init__(place)
        self.texts = {entry.id: {entry.content} for entry in self.held.values()}

    def save(self):
        super().save()
        self.texts = {entry.id: {entry.content} for entry in self.held.values()}

    def text_score(self, query, entry):
        texts = [entry.replace(content=text) for text in self.texts.get(entry.id, ())]
        return max((super(TextIndex, self).text_score(query, e) for e in texts), default=0.0)


class OldTextStaysFindable(TextIndex):
    def save(self):
        ReferenceStore.save(self)
        for entry in self.held.values():
            self.texts.setdefault(entry.id, set()).add(entry.content)


class TextIndexedAtOpening(TextIndex):
    def save(self):
        ReferenceStore.save(self)


class TextIndexNotRebuilt(TextIndex):
    def __init__(self, place):
        super().__init__(place)
        self.texts = {}


class VectorIndex(ReferenceStore):
    """A correct store with its vectors in a second place."""

    def __init__(self, place):
        super().__init__(place)
        self.vectors = {entry.id: entry.embedding for entry in self.held.values()}

    def save(self):
        super().save()
        self.vectors = {entry.id: entry.embedding for entry in self.held.values()}

    def search_vector(self, vector, /, **options):
        held = self.held
        self.held = {
            key: entry.replace(embedding=self.vectors.get(key), embedder=entry.embedder)
            for key, entry in held.items()
        }
        try:
            hits = super().search_vector(vector, **options)
        finally:
            self.held = held
        return [(held[entry.id], score) for entry, score in hits]


class OldVectorStays(VectorIndex):
    def save(self):
        ReferenceStore.save(self)
        for key, entry in self.held.items():
            if entry.embedding is not None:
                self.vectors[key] = entry.embedding


class VectorsReadOnce(VectorIndex):
    def save(self):
        ReferenceStore.save(self)
        self.vectors = self.vectors or {e.id: e.embedding for e in self.held.values()}


class VectorIndexNotRebuilt(VectorIndex):
    def __init__(self, place):
        super().__init__(place)
        self.vectors = {}


class DeleteIsRecalled(ReferenceStore):
    """Deleted entries are marked, and only list and get know the mark."""

    def delete(self, entry_ids, /):
        gone = {key for key in entry_ids if key in self.held and not self.marked(self.held[key])}
        self.held = {
            key: entry.replace(namespace="deleted") if key in gone else entry
            for key, entry in self.held.items()
        }
        return len(gone)

    def marked(self, entry):
        return entry.namespace == "deleted"

    def get(self, entry_id, /):
        if self.marked(super().get(entry_id)):
            raise errors.EntryNotFound(entry_id)
        return super().get(entry_id)

    def list(self, *, limit=None, **filters):
        return [e for e in super().list(**filters) if not self.marked(e)][: self.check_limit(limit)]


class DeleteRaisesForUnknown(ReferenceStore):
    def delete(self, entry_ids, /):
        given = list(entry_ids)
        for entry_id in given:
            self.get(entry_id)
        return super().delete(given)


class DeleteCountsRequests(ReferenceStore):
    def delete(self, entry_ids, /):
        given = list(entry_ids)
        super().delete(given)
        return len(given)


class DeleteByPattern(ReferenceStore):
    def delete(self, entry_ids, /):
        patterns = [re.escape(i).replace("%", ".*").replace("_", ".") for i in entry_ids]
        return super().delete(
            [key for key in self.held if any(re.fullmatch(p, key, re.IGNORECASE) for p in patterns)]
        )


class GetReturnsNone(ReferenceStore):
    def get(self, entry_id, /):
        return self.held.get(entry_id)


class GetHidesSuperseded(ReferenceStore):
    def get(self, entry_id, /):
        entry = super().get(entry_id)
        if entry.superseded_at is not None:
            raise errors.EntryNotFound(entry_id)
        return entry


class UpdateCreates(ReferenceStore):
    def update(self, entry_id, /, *, now=None, **changes):
        if entry_id not in self.held and "content" in changes:
            self.put([Entry(id=entry_id, **changes)])
        return super().update(entry_id, now=now, **changes)


class UpdateOfEverybody(ReferenceStore):
    def update(self, entry_id, /, *, now=None, **changes):
        entry = super().update(entry_id, now=now, **changes)
        changes.pop("content", None)
        self.put([other.replace(**changes) for other in self.held.values() if other.id != entry_id])
        return entry


class UpdateIgnoresUnknown(ReferenceStore):
    def update(self, entry_id, /, *, now=None, **changes):
        known = {name: value for name, value in changes.items() if name in ENTRY_FIELDS}
        return super().update(entry_id, now=now, **known)


class UpdateIgnoresNone(ReferenceStore):
    def update(self, entry_id, /, *, now=None, **changes):
        given = {name: value for name, value in changes.items() if value is not None}
        return super().update(entry_id, now=now, **given)


class UpdateMayChangeId(ReferenceStore):
    def update(self, entry_id, /, *, now=None, **changes):
        new_id = changes.pop("id", entry_id)
        entry = super().update(entry_id, now=now, **changes).replace(id=new_id)
        self.delete([entry_id])
        self.put([entry])
        return entry


class UpdateTakesTheClock(ReferenceStore):
    def update(self, entry_id, /, *, now=None, **changes):
        return super().update(entry_id, now=None, **changes)


class UpdateWithoutNowKeepsTheTime(ReferenceStore):
    def update(self, entry_id, /, *, now=None, **changes):
        now = now or self.get(entry_id).updated_at
        return super().update(entry_id, now=now, **changes)


class UpdateDropsMetadata(ReferenceStore):
    def update(self, entry_id, /, *, now=None, **changes):
        if "content" in changes:
            changes = {"metadata": {}, **changes}
        return super().update(entry_id, now=now, **changes)


class UpdateMergesMetadata(ReferenceStore):
    def update(self, entry_id, /, *, now=None, **changes):
        if "metadata" in changes:
            merged = {**self.get(entry_id).metadata, **changes["metadata"]}
            changes = {**changes, "metadata": merged}
        return super().update(entry_id, now=now, **changes)


class UpdateKeepsVector(ReferenceStore):
    def update(self, entry_id, /, *, now=None, **changes):
        before = self.get(entry_id)
        return super().update(
            entry_id,
            now=now,
            **{"embedding": before.embedding, "embedder": before.embedder, **changes},
        )


class UpdateDropsVector(ReferenceStore):
    def update(self, entry_id, /, *, now=None, **changes):
        return super().update(entry_id, now=now, **{"embedding": None, **changes})


class UpdateSkipsTheChecks(ReferenceStore):
    def update(self, entry_id, /, *, now=None, **changes):
        if not isinstance(changes.get("embedding"), np.ndarray | None):
            changes.pop("embedding")
        entry = self.get(entry_id).replace(updated_at=now or datetime.now().astimezone(), **changes)
        self.held[entry_id] = entry
        return entry


class UpdateCannotMove(ReferenceStore):
    def update(self, entry_id, /, *, now=None, **changes):
        for name in ("user_id", "type", "superseded_at"):
            changes.pop(name, None)
        return super().update(entry_id, now=now, **changes)


class TouchIsUpdate(ReferenceStore):
    def touch(self, entry_ids, /, *, now):
        known = [entry_id for entry_id in entry_ids if entry_id in self.held]
        for entry_id in known:
            self.update(
                entry_id,
                now=now,
                access_count=self.get(entry_id).access_count + 1,
                last_accessed_at=now,
            )
        return len(known)


class TouchRaisesForUnknown(ReferenceStore):
    def touch(self, entry_ids, /, *, now):
        given = list(entry_ids)
        for entry_id in given:
            self.get(entry_id)
        return super().touch(given, now=now)


class TouchSetsTheCount(ReferenceStore):
    def touch(self, entry_ids, /, *, now):
        known = [self.get(entry_id) for entry_id in entry_ids if entry_id in self.held]
        return self.put(entry.replace(access_count=1, last_accessed_at=now) for entry in known)


class HitsAreCached(ReferenceStore):
    def search_text(self, query, /, **options):
        self.cache = getattr(self, "cache", {})
        hits = super().search_text(query, **options)
        return [(self.cache.setdefault((e.id, e.content), e), score) for e, score in hits]


class SharedState(ReferenceStore):
    everywhere: ClassVar = {}

    def __init__(self, place):
        super().__init__(place)
        self.held = self.everywhere.setdefault("held", {})

    def save(self):
        self.everywhere["held"] = self.held

    def visible(self, scope, type, as_of, include_superseded=False):
        self.held = self.everywhere["held"]
        return super().visible(scope, type, as_of, include_superseded)


class ForgetsOnClosing(ReferenceStore):
    def save(self):
        pass


class AppendOnly(ReferenceStore):
    """Its file keeps the first version of each entry."""

    def save(self):
        held = self.held
        self.held = {**held, **ReferenceStore(self.file.parent).held}
        super().save()
        self.held = held


class ReopenedReadOnly(ReferenceStore):
    def __init__(self, place):
        super().__init__(place)
        self.sealed = self.file.exists()

    def save(self):
        if not self.sealed:
            super().save()


class ReopenedWithoutEmbedders(ReferenceStore):
    def __init__(self, place):
        super().__init__(place)
        self.held = {k: e.replace(embedding=e.embedding) for k, e in self.held.items()}


class ClosesOnce(ReferenceStore):
    closed = False

    def close(self):
        if self.closed:
            raise errors.StoreError("already closed")
        self.closed = True


class UpdateFromAStaleCopy(ReferenceStore):
    """Updates what was put, not what it has become by touch: no single test does both."""

    def __init__(self, place):
        super().__init__(place)
        self.copies = dict(self.held)

    def put(self, entries, /):
        given = list(entries)
        count = super().put(given)
        self.copies |= {entry.id: entry for entry in given}
        return count

    def touch(self, entry_ids, /, *, now):
        copies = dict(self.copies)
        count = super().touch(entry_ids, now=now)
        self.copies = copies
        return count

    def update(self, entry_id, /, *, now=None, **changes):
        if entry_id in self.held:
            self.held[entry_id] = self.copies[entry_id]
        return super().update(entry_id, now=now, **changes)
