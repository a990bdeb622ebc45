"""A small store that keeps the contract, to break on purpose, and independent of our own."""

import math
import pickle
import re
import threading
from datetime import UTC, datetime

import numpy as np

from nousmem.entry import Entry, parse_instant, parse_type, parse_vector
from nousmem.errors import (
    EmbeddingMismatch,
    EntryNotFound,
    InvalidEntry,
    InvalidParameter,
    InvalidScope,
)
from nousmem.scope import GLOBAL, as_filter

SAVED = {}
"""How often each file was written, by any store of this process."""


class ReferenceStore:
    """Entries in a dict, written to a file as a whole after each change."""

    def __init__(self, place):
        self.file = place / "entries.pickle"
        self.lock = threading.RLock()
        self.held = self.load()

    @property
    def held(self):
        # Or a reader would take the file while it is written, and put it over a later change.
        with self.lock:
            if SAVED.get(self.file, 0) != self.seen:
                self.held = self.load()
            return self._held

    @held.setter
    def held(self, entries):
        self._held, self.seen = entries, SAVED.get(self.file, 0)

    def load(self):
        return pickle.loads(self.file.read_bytes()) if self.file.exists() else {}

    def put(self, entries, /):
        given = self.check_entries(entries)
        with self.lock:
            self.check_embeddings(given)
            self.held = self.held | {entry.id: self.keep(entry) for entry in given}
            self.save()
        return len(given)

    def get(self, entry_id, /):
        if entry_id not in self.held:
            raise EntryNotFound(entry_id)
        return self.held[entry_id]

    def update(self, entry_id, /, *, now=None, **changes):
        if "id" in changes:
            raise InvalidEntry("the id of an entry cannot change")
        moment = datetime.now(UTC) if now is None else now
        with self.lock:
            entry = self.get(entry_id).replace(**{"updated_at": moment, **changes})
            self.put([entry])
        return entry

    def delete(self, entry_ids, /):
        with self.lock:
            gone = {entry_id for entry_id in self.check_ids(entry_ids) if entry_id in self.held}
            self.held = {key: entry for key, entry in self.held.items() if key not in gone}
            self.save()
        return len(gone)

    def touch(self, entry_ids, /, *, now):
        with self.lock:
            known = [self.held[key] for key in self.check_ids(entry_ids) if key in self.held]
            return self.put(
                entry.replace(access_count=entry.access_count + 1, last_accessed_at=now)
                for entry in known
            )

    def forget(self, scope, /, *, everything=False):
        if bool(as_filter(scope)) is everything:
            raise InvalidScope("say whose entries, or everything=True")
        with self.lock:
            return self.delete([entry.id for entry in self.erased(scope)])

    def erased(self, scope):
        return self.visible(scope, None, None, include_superseded=True)

    def compact(self):
        self.save()

    def check(self, *, repair=False):
        return []

    def list(self, *, scope=GLOBAL, type=None, limit=None, as_of=None, include_superseded=False):
        seen = self.visible(scope, type, as_of, include_superseded)
        ordered = sorted(seen, key=lambda entry: (entry.created_at, entry.id))
        return ordered[: self.check_limit(limit)]

    def search_text(
        self, query, /, *, scope=GLOBAL, type=None, limit=10, min_score=0.0, as_of=None
    ):
        self.check_text(query)
        seen = self.visible(scope, type, as_of)
        return self.best([(e, self.text_score(query, e)) for e in seen], limit, min_score)

    def search_vector(
        self, vector, /, *, scope=GLOBAL, type=None, limit=10, min_score=0.0, as_of=None,
        embedder=None,
    ):  # fmt: skip
        vector = self.check_vector(vector)
        self.check_query(vector, embedder)
        seen = [e for e in self.visible(scope, type, as_of) if e.embedding is not None]
        scored = [(entry, self.cosine(vector, entry.embedding)) for entry in seen]
        return self.best(scored, limit, min_score)

    def keep(self, entry):
        return entry

    def save(self):
        self.file.write_bytes(pickle.dumps(self._held))
        SAVED[self.file] = self.seen = SAVED.get(self.file, 0) + 1

    def visible(self, scope, type, as_of, include_superseded=False):
        wanted = self.conditions(scope, type)
        as_of = None if as_of is None else self.check_instant(as_of)
        now = datetime.max.replace(tzinfo=UTC) if as_of is None else as_of
        return [
            entry
            for entry in self.held.values()
            if all(self.equal(getattr(entry, name), value) for name, value in wanted)
            and (as_of is None or entry.created_at <= as_of)
            and (include_superseded or not entry.superseded_at or entry.superseded_at > now)
        ]

    def conditions(self, scope, type):
        return [
            *as_filter(scope).items(),
            *([("type", parse_type(type))] if type is not None else []),
        ]

    def equal(self, value, wanted):
        return value == wanted

    def check_entries(self, entries):
        given = [] if isinstance(entries, Entry | str) else list(entries)
        if isinstance(entries, Entry | str) or not all(isinstance(e, Entry) for e in given):
            raise InvalidEntry("put takes entries")
        return given

    def check_ids(self, entry_ids):
        if isinstance(entry_ids, str):
            raise InvalidParameter("expected several ids, got one")
        return list(dict.fromkeys(entry_ids))

    def check_instant(self, moment):
        return parse_instant(moment)

    def check_limit(self, limit):
        if limit is not None and (type(limit) is not int or limit < 0):
            raise InvalidParameter(f"limit must be at least 0, got {limit}")
        return limit

    def best(self, scored, limit, min_score):
        if not isinstance(min_score, float | int) or math.isnan(min_score):
            raise InvalidParameter(f"min_score must be a number, got {min_score}")
        above = [(entry, score) for entry, score in scored if score > min_score]
        above.sort(key=lambda hit: (hit[1], hit[0].id), reverse=True)
        return above[: self.check_limit(limit)]

    def words(self, text):
        runs = re.findall(r"[^\W_]+", text.lower())
        return {
            *runs,
            *(run[i : i + 2] for run in runs if not run.isascii() for i in range(len(run))),
        }

    def text_score(self, query, entry):
        if query.strip().lower() == entry.content.strip().lower():
            return 1.0
        wanted, there = self.words(query), self.words(entry.content)
        return len(wanted & there) / max(1, len(wanted | there))

    def check_text(self, query):
        if not isinstance(query, str):
            raise InvalidParameter(f"a query is text, got {query!r}")

    def check_vector(self, vector):
        return parse_vector(vector)

    def cosine(self, vector, other):
        left, right = vector.astype(np.float64), other.astype(np.float64)
        return float(left @ right) / math.sqrt(float(left @ left) * float(right @ right))

    def check_embeddings(self, given):
        known = [*(self.held[key] for key in self.held if key not in {e.id for e in given}), *given]
        self.agree([(e.embedding.size, e.embedder) for e in known if e.embedding is not None])

    def check_query(self, vector, embedder):
        known = [e for e in self.held.values() if e.embedding is not None]
        if known:
            self.agree([*((e.embedding.size, e.embedder) for e in known), (vector.size, embedder)])

    def agree(self, made):
        for what, values in (("length", {n for n, _ in made}), ("embedder", {m for _, m in made})):
            if len(values - {None}) > 1:
                raise EmbeddingMismatch(f"one {what} in a store, got {sorted(values - {None})}")
