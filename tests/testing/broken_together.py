"""Stores with one fault each in what they refuse, in forgetting, or in bearing several users."""

import contextlib
import threading
import time

from reference_store import ReferenceStore

from nousmem.entry import Entry
from nousmem.scope import SCOPE_FIELDS, Scope, as_filter
from nousmem.stores.base import Fault


class PutSkipsWhatIsNoEntry(ReferenceStore):
    def check_entries(self, entries):
        given = [entries] if isinstance(entries, Entry) else entries
        return [entry for entry in given if isinstance(entry, Entry)]


class IdsByLetter(ReferenceStore):
    def check_ids(self, entry_ids):
        return list(dict.fromkeys(entry_ids))


class NulEndsAnId(ReferenceStore):
    def check_ids(self, entry_ids):
        return [entry_id.partition("\x00")[0] for entry_id in super().check_ids(entry_ids)]


class NaiveNowIsLocal(ReferenceStore):
    def update(self, entry_id, /, *, now=None, **changes):
        return super().update(entry_id, now=now and now.astimezone(), **changes)


class NaiveAccessIsLocal(ReferenceStore):
    def touch(self, entry_ids, /, *, now):
        return super().touch(entry_ids, now=now.astimezone())


class NaiveAsOfIsLocal(ReferenceStore):
    def check_instant(self, moment):
        return moment.astimezone()


class AnyLimit(ReferenceStore):
    def check_limit(self, limit):
        return None if limit is None else super().check_limit(int(limit))


class AnyMinScore(ReferenceStore):
    def best(self, scored, limit, min_score):
        return super().best(scored, limit, 0.0 if min_score != min_score else float(min_score))


class QueryOfAnything(ReferenceStore):
    def search_text(self, query, /, **options):
        return super().search_text(str(query), **options)


class TouchCountsTwice(ReferenceStore):
    def touch(self, entry_ids, /, *, now):
        return sum(super(TouchCountsTwice, self).touch([one], now=now) for one in entry_ids)


class ForgetsByPrefix(ReferenceStore):
    def erased(self, scope):
        wanted = as_filter(scope)
        fields = [name for name in SCOPE_FIELDS if wanted.get(name)]
        return [
            entry
            for entry in self.held.values()
            if all((getattr(entry, name) or "").startswith(wanted[name]) for name in fields)
        ]


class ForgetIgnoresAllButTheScope(ReferenceStore):
    def erased(self, scope):
        wanted = as_filter(scope)
        named = {name: wanted[name] for name in SCOPE_FIELDS if name in wanted}
        return super().erased(named)


class ForgetKeepsHistory(ReferenceStore):
    def erased(self, scope):
        return self.visible(scope, None, None)


class ForgetsEverythingForNoScope(ReferenceStore):
    def forget(self, scope, /, *, everything=False):
        return super().forget(scope, everything=everything or not as_filter(scope))


class ForgetTakesAnyName(ReferenceStore):
    def forget(self, scope, /, *, everything=False):
        known = {name: scope[name] for name in SCOPE_FIELDS if isinstance(scope, dict)}
        return super().forget(Scope(**known), everything=everything)


class ForgetTakesBoth(ReferenceStore):
    def forget(self, scope, /, *, everything=False):
        return super().forget({} if everything else scope, everything=everything)


class CheckFindsGhosts(ReferenceStore):
    def check(self, *, repair=False):
        return [Fault("replaced entries still in the index", 1)]


class RepairDropsTheUnembedded(ReferenceStore):
    def check(self, *, repair=False):
        if repair:
            self.delete([entry.id for entry in self.held.values() if entry.embedding is None])
        return []


class CompactTouches(ReferenceStore):
    def compact(self):
        self.touch(list(self.held), now=max(e.updated_at for e in self.held.values()))


class BoundToItsThread(ReferenceStore):
    def __init__(self, place):
        super().__init__(place)
        self.thread = threading.get_ident()

    def save(self):
        if threading.get_ident() != self.thread:
            raise RuntimeError("opened in another thread")
        super().save()


class Unlocked(ReferenceStore):
    def __init__(self, place):
        super().__init__(place)
        self.lock = contextlib.nullcontext()

    def keep(self, entry):
        time.sleep(0.0005)
        return entry


class LosesAccesses(ReferenceStore):
    def touch(self, entry_ids, /, *, now):
        read = [self.held[entry_id] for entry_id in entry_ids]
        time.sleep(0.0005)
        return self.put(
            entry.replace(access_count=entry.access_count + 1, last_accessed_at=now)
            for entry in read
        )


class HalfAPutIsSeen(ReferenceStore):
    def put(self, entries, /):
        given = self.check_entries(entries)
        self.check_embeddings(given)
        for entry in given:
            super().put([entry])
        return len(given)


class ReadsTheFileOnce(ReferenceStore):
    @property
    def held(self):
        return self._held

    @held.setter
    def held(self, entries):
        self._held, self.seen = entries, 0
