"""The contracts of legs and terms as test suites, for anybody's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
import pytest

from nousmem.entry import Entry, MemoryType
from nousmem.errors import NousmemError
from nousmem.retrieval.candidates import Candidates
from nousmem.retrieval.finding import find
from nousmem.retrieval.legs import FindingLeg, Leg, LegRequest, chosen_leg, leg_name, score_entries
from nousmem.retrieval.search import Search
from nousmem.retrieval.settings import Retrieval, Settings
from nousmem.retrieval.terms import Term, chosen_term
from nousmem.scope import Scope
from nousmem.scoring import Scoring
from nousmem.stores.memory import MemoryStore

__all__ = ["LegConformance", "TermConformance"]

_NOW: Final = datetime(2026, 3, 15, 12, tzinfo=UTC)
_AS_OF: Final = _NOW - timedelta(days=30)
_DOCUMENTS: Final = (
    "Mira repairs old bicycles in the shed behind the mill",
    "The mill opens on Tuesdays and sells rye flour",
    "Jonas lost the key of the shed",
    "Bicycles need air in the tyres before the tour",
    "我喜欢骑自行车",
    "🎉",
    "The tour along the river begins at the old mill",
    "Rye bread is baked on Wednesdays",
)
_QUERIES: Final = (
    "old bicycles at the mill",
    "rye",
    "🎉",
    "自行车",
    "nothing of this is there xyzzy",
)


def example_entries() -> list[Entry]:
    """Return entries of two people, before and after `as_of`, accessed and changed later."""
    entries: list[Entry] = []
    for at, text in enumerate(_DOCUMENTS * 3):
        created = _AS_OF + timedelta(days=4 * (at % 12) - 24)
        angle = 0.3 * at
        entries.append(
            Entry(
                f"{text} ({at})",
                id=f"entry-{at:02}",
                user_id="mira" if at % 3 else "jonas",
                type=tuple(MemoryType)[at % 3],
                importance=(at % 11) / 10,
                evergreen=at % 7 == 0,
                access_count=at % 5,
                metadata={
                    "place": "mill" if at % 2 else "shed",
                    "tags": ["bicycle", "rye"][: at % 3],
                },
                embedding=np.array([np.cos(angle), np.sin(angle), 0.1], dtype=np.float32),
                created_at=created,
                updated_at=created + timedelta(days=at % 4),
                last_accessed_at=created + timedelta(days=at % 9),
            )
        )
    return entries


class LegConformance:
    """Checks a leg against everything the contract says (`nousmem.retrieval.legs`).

    Derive a class from it in a test file, say how the leg is made, and run pytest:

    ```python
    from nousmem.testing import LegConformance

    class TestMyLeg(LegConformance):
        def make_leg(self) -> MyLeg:
            return MyLeg()
    ```

    The leg is asked over a store in memory with entries of two people, in three scripts, with
    metadata `place` (text) and `tags` (a list). A leg that needs others gives them by `entries`.
    """

    def make_leg(self) -> Leg:
        """Return a new leg; two of them must be equal in all that counts."""
        raise NotImplementedError(f"{type(self).__name__} must define make_leg(self)")

    def entries(self) -> Sequence[Entry]:
        """Return what the store holds."""
        return example_entries()

    def queries(self) -> Sequence[str]:
        """Return the queries asked."""
        return _QUERIES

    def _request(self, query: str, **changes: Any) -> LegRequest:
        store = MemoryStore()
        store.put(self.entries())
        request = LegRequest(
            store=store,
            query=query,
            depth=10,
            now=_NOW,
            scope=Scope(user_id="mira"),
            as_of=_AS_OF,
            vector=np.array([1.0, 0.2, 0.1], dtype=np.float32),
        )
        return replace(request, **changes)

    def _found(self, leg: Leg, request: LegRequest) -> list[tuple[str, float]]:
        """Let the leg find, or score what there is; whatever breaks the rules fails the test."""
        if isinstance(leg, FindingLeg):
            retrieval = Retrieval(legs=[leg], depth=request.depth)
            candidates = find(
                request.store,
                request.query,
                retrieval=retrieval,
                now=request.now,
                vector=request.vector,
                scope=request.scope,
                type=request.type,
                as_of=request.as_of,
            )
            scores = candidates.scores_of(leg_name(leg))
        else:
            entries = request.entries()
            candidates = Candidates.union({"text": [(one, 1.0) for one in entries]}, now=_NOW)
            scores = score_entries(leg, request, candidates.entries)
        return list(zip(candidates.ids, scores.tolist(), strict=True))

    def test_is_a_leg(self) -> None:
        """It has a name and a verb, and can be hashed; two of them are equal."""
        leg = self.make_leg()
        assert not isinstance(chosen_leg(leg), str)
        assert hash(leg) == hash(self.make_leg())
        assert leg == self.make_leg(), "two legs made alike must be equal: a frozen dataclass is"

    def test_keeps_the_rules(self) -> None:
        """It returns known entries of the scope, the best first, each once, as many as asked."""
        for query in self.queries():
            for depth in (1, 3, 100):
                self._found(self.make_leg(), self._request(query, depth=depth))

    def test_stays_in_the_scope(self) -> None:
        """Scope, type and `as_of` hold, each alone and all together."""
        for query in self.queries():
            for changes in ({"type": "episodic"}, {"as_of": None}, {"scope": Scope()}):
                self._found(self.make_leg(), self._request(query, **changes))

    def test_is_deterministic(self) -> None:
        """The same request gives the same, from this leg and from another made alike."""
        leg = self.make_leg()
        for query in self.queries():
            first = self._found(leg, self._request(query))
            assert self._found(leg, self._request(query)) == first
            assert self._found(self.make_leg(), self._request(query)) == first

    def test_sees_nothing_later(self) -> None:
        """What is put after `as_of` changes nothing."""
        for query in self.queries():
            request = self._request(query)
            before = self._found(self.make_leg(), request)
            later = Entry(query, id="later", user_id="mira", created_at=_AS_OF + timedelta(hours=1))
            request.store.put([later])
            assert self._found(self.make_leg(), request) == before

    def test_a_deeper_list_begins_alike(self) -> None:
        """The first entries do not depend on how many are asked for."""
        leg = self.make_leg()
        if not isinstance(leg, FindingLeg):
            pytest.skip("a leg that only scores has no depth")
        for query in self.queries():
            few = dict(self._found(leg, self._request(query, depth=3)))
            many = dict(self._found(leg, self._request(query, depth=20)))
            assert few.items() <= many.items()

    def test_an_empty_scope(self) -> None:
        """Where there is nobody, nothing is found."""
        for query in self.queries():
            request = self._request(query, scope=Scope(user_id="nobody"))
            assert self._found(self.make_leg(), request) == []


class TermConformance:
    """Checks a term against everything the contract says (`nousmem.retrieval.terms`).

    ```python
    from nousmem.testing import TermConformance

    class TestFrequency(TermConformance):
        term = frequency
    ```

    The term is given the candidates of a store in memory; see `LegConformance`.
    """

    term: Term
    """What is checked."""

    def entries(self) -> Sequence[Entry]:
        """Return what the store holds."""
        return example_entries()

    def queries(self) -> Sequence[str]:
        """Return the queries asked."""
        return _QUERIES

    @property
    def _checked(self) -> Term:
        return chosen_term(type(self).term)

    def _candidates(
        self, query: str, entries: Sequence[Entry] | None = None, **filters: Any
    ) -> Candidates:
        store = MemoryStore()
        store.put(self.entries() if entries is None else entries)
        asked: dict[str, Any] = {"as_of": _AS_OF, **filters}
        return find(
            store,
            query,
            retrieval=Retrieval(terms=[self._checked]),
            now=_NOW,
            vector=np.array([1.0, 0.2, 0.1], dtype=np.float32),
            **asked,
        )

    def _column(self, candidates: Candidates) -> Mapping[str, float]:
        values = candidates.term_values(self._checked, Scoring())
        return dict(zip(candidates.ids, values.tolist(), strict=True))

    def test_shape_and_numbers(self) -> None:
        """It returns one finite number a candidate, for any query, and for none."""
        for query in self.queries():
            candidates = self._candidates(query)
            assert len(self._column(candidates)) == len(candidates)
        nobody = self._candidates(self.queries()[0], scope=Scope(user_id="nobody"))
        assert self._column(nobody) == {}

    def test_is_deterministic(self) -> None:
        """The same candidates give the same column, whatever the wall clock says."""
        for query in self.queries():
            first = self._column(self._candidates(query))
            assert self._column(self._candidates(query)) == first

    def test_sees_nothing_later(self) -> None:
        """Accesses, changes and successors later than `as_of` change nothing."""
        later = _AS_OF + timedelta(days=3)
        changed = [
            replace(
                one,
                last_accessed_at=max(one.last_accessed_at, later),
                updated_at=max(one.updated_at, later),
            )
            for one in self.entries()
        ]
        for query in self.queries():
            plain = self._candidates(query)
            future = self._candidates(query, changed)
            clipped = [
                replace(
                    one,
                    last_accessed_at=_AS_OF,
                    updated_at=_AS_OF,
                )
                for one in self.entries()
            ]
            known = self._candidates(query, clipped)
            assert self._column(future) == self._column(known)
            assert set(self._column(future)) == set(self._column(plain))

    def test_ranks_in_a_search(self) -> None:
        """With a weight, it is an addend of the score, and the addends add up exactly."""
        store = MemoryStore()
        store.put(self.entries())
        settings = Settings(
            retrieval=Retrieval(terms=[self._checked]),
            scoring=Scoring(weights={self._checked.name: 0.37}),
        )
        for query in self.queries():
            hits = Search(store, settings=settings)(query, now=_NOW, as_of=_AS_OF)
            for hit in hits:
                explained = hits.explain(hit.rank)
                total = 0.0
                for contribution in explained["contribution"]:
                    total += contribution
                assert total == hit.score
                assert self._checked.name in set(explained["term"])

    def test_is_named_by_a_file(self) -> None:
        """Settings with it can be written; the name is said where nobody else could read it."""
        settings = Settings(retrieval=Retrieval(terms=[self._checked]))
        try:
            assert Settings.from_toml(settings.to_toml()) == settings
        except NousmemError as error:
            pytest.skip(f"only this process knows it: {error}")
