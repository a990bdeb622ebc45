"""Stores with one fault each in scope, type, as_of, limit, min_score or order."""

import re
from datetime import datetime, timedelta

import numpy as np
from reference_store import ReferenceStore

from nousmem import errors
from nousmem.entry import ENTRY_FIELDS, parse_type
from nousmem.scope import Scope, as_filter


class ScopeIgnoredByVectors(ReferenceStore):
    def search_vector(self, vector, /, *, scope=None, **options):
        as_filter(scope or Scope())
        return super().search_vector(vector, **options)


class ScopeIgnoredByText(ReferenceStore):
    def search_text(self, query, /, *, scope=None, **options):
        as_filter(scope or Scope())
        return super().search_text(query, **options)


class ScopeIgnoredByList(ReferenceStore):
    def list(self, *, scope=None, **options):
        as_filter(scope or Scope())
        return super().list(**options)


class LimitBeforeFilter(ReferenceStore):
    def search_text(self, query, /, *, limit=10, min_score=0.0, **filters):
        top = super().search_text(query, limit=3 * limit)
        seen = {entry.id for entry, _ in super().search_text(query, limit=10**6, **filters)}
        hits = [(e, score) for e, score in top if e.id in seen and score > min_score]
        return hits[: self.check_limit(limit)]

    def search_vector(self, vector, /, *, limit=10, min_score=0.0, embedder=None, **filters):
        top = super().search_vector(vector, limit=3 * limit, min_score=min_score, embedder=embedder)
        seen = {
            entry.id
            for entry, _ in super().search_vector(vector, limit=10**6, min_score=-2, **filters)
        }
        return [(e, score) for e, score in top if e.id in seen][: self.check_limit(limit)]

    def list(self, *, limit=None, **filters):
        return [
            e
            for e in super().list(limit=limit)
            if e in super(LimitBeforeFilter, self).list(**filters)
        ]


class LikeForEquality(ReferenceStore):
    def equal(self, value, wanted):
        if not isinstance(wanted, str) or value is None:
            return value == wanted
        pattern = re.escape(wanted).replace("%", ".*").replace("_", ".")
        return re.fullmatch(pattern, value, re.DOTALL | re.IGNORECASE) is not None


class PrefixForEquality(ReferenceStore):
    def equal(self, value, wanted):
        return (
            value is not None and value.startswith(wanted)
            if isinstance(wanted, str)
            else value == wanted
        )


class StripsScopes(ReferenceStore):
    def equal(self, value, wanted):
        return value == wanted or (
            isinstance(value, str) and isinstance(wanted, str) and value.strip() == wanted.strip()
        )


class JoinedScopeKey(ReferenceStore):
    def conditions(self, scope, type):
        wanted = dict(super().conditions(scope, type))
        if {"agent_id", "user_id"} <= wanted.keys():
            self.joined = f"{wanted.pop('agent_id')}:{wanted.pop('user_id')}"
        else:
            self.joined = None
        return list(wanted.items())

    def visible(self, scope, type, as_of, include_superseded=False):
        seen = super().visible(scope, type, as_of, include_superseded)
        return [e for e in seen if self.joined in (None, f"{e.agent_id}:{e.user_id}")]


class AnyConditionIsEnough(ReferenceStore):
    def conditions(self, scope, type):
        return super().conditions(scope, type)[:1]


class EmptyIsUnset(ReferenceStore):
    def equal(self, value, wanted):
        return (value or None) == (wanted or None)


class NoneIsNoFilter(ReferenceStore):
    def conditions(self, scope, type):
        return [
            (name, value) for name, value in super().conditions(scope, type) if value is not None
        ]


class UnknownScopeFieldIsNoFilter(ReferenceStore):
    def conditions(self, scope, type):
        if isinstance(scope, dict):
            scope = {name: value for name, value in scope.items() if name in ENTRY_FIELDS}
        return super().conditions({} if isinstance(scope, str) else scope, type)


class SinglePrecisionImportance(ReferenceStore):
    def equal(self, value, wanted):
        if isinstance(wanted, float):
            return np.float32(value) == np.float32(wanted)
        return value == wanted


class MillisecondFilters(ReferenceStore):
    def equal(self, value, wanted):
        if isinstance(wanted, datetime):
            return abs(value - wanted) < timedelta(milliseconds=1)
        return value == wanted


class OnlyScopeFields(ReferenceStore):
    def conditions(self, scope, type):
        wanted = super().conditions(scope, type)
        if any(not isinstance(getattr(Scope(), name, ""), str | None) for name, _ in wanted):
            raise errors.InvalidScope
        return [
            (n, v)
            for n, v in wanted
            if n in ("agent_id", "session_id", "user_id", "namespace", "type")
        ]


class TypeIgnored(ReferenceStore):
    def conditions(self, scope, type):
        super().conditions(scope, type)
        return list(as_filter(scope).items())


class TypeInsteadOfScope(ReferenceStore):
    def conditions(self, scope, type):
        wanted = super().conditions(scope, type)
        return wanted if type is None else [("type", parse_type(type))]


class UnknownTypeIsEmpty(ReferenceStore):
    def conditions(self, scope, type):
        try:
            return super().conditions(scope, type)
        except errors.InvalidEntry:
            return [("id", "")]


class NegativeLimitFromTheEnd(ReferenceStore):
    def check_limit(self, limit):
        return limit


class ZeroIsNoLimit(ReferenceStore):
    def check_limit(self, limit):
        return super().check_limit(limit) or None


class DefaultLimitIsFive(ReferenceStore):
    def search_text(self, query, /, *, limit=5, **options):
        return super().search_text(query, limit=limit, **options)

    def search_vector(self, vector, /, *, limit=5, **options):
        return super().search_vector(vector, limit=limit, **options)


class AsOfIgnored(ReferenceStore):
    def visible(self, scope, type, as_of, include_superseded=False):
        return super().visible(scope, type, None, include_superseded)


class AsOfExclusive(ReferenceStore):
    def visible(self, scope, type, as_of, include_superseded=False):
        seen = super().visible(scope, type, as_of, include_superseded)
        return [entry for entry in seen if as_of is None or entry.created_at < as_of]


class AsOfByWallTime(ReferenceStore):
    def visible(self, scope, type, as_of, include_superseded=False):
        as_of = as_of and as_of.replace(tzinfo=datetime.now().astimezone().tzinfo)
        return super().visible(scope, type, as_of, include_superseded)


class SupersededIsVisible(ReferenceStore):
    def visible(self, scope, type, as_of, include_superseded=True):
        return super().visible(scope, type, as_of, True)


class SupersededIsGone(ReferenceStore):
    def visible(self, scope, type, as_of, include_superseded=False):
        seen = super().visible(scope, type, as_of, include_superseded)
        return [entry for entry in seen if entry.superseded_at is None]


class HistoryIgnoresScope(ReferenceStore):
    def list(self, *, include_superseded=False, **filters):
        if include_superseded:
            filters.pop("scope", None)
        return super().list(include_superseded=include_superseded, **filters)


class ListUnordered(ReferenceStore):
    def list(self, *, limit=None, **filters):
        seen = {entry.id for entry in super().list(**filters)}
        return [entry for entry in self.held.values() if entry.id in seen][
            : self.check_limit(limit)
        ]


class ListNewestFirst(ReferenceStore):
    def list(self, *, limit=None, **filters):
        return super().list(**filters)[::-1][: self.check_limit(limit)]


class ListTiesByInsertion(ReferenceStore):
    def list(self, *, limit=None, **filters):
        seen = {entry.id for entry in super().list(**filters)}
        kept = [entry for entry in self.held.values() if entry.id in seen]
        return sorted(kept, key=lambda entry: entry.created_at)[: self.check_limit(limit)]


class ListIgnoresLimit(ReferenceStore):
    def list(self, *, limit=None, **filters):
        self.check_limit(limit)
        return super().list(**filters)


class AscendingTies(ReferenceStore):
    def best(self, scored, limit, min_score):
        hits = super().best(scored, None, min_score)
        hits.sort(key=lambda hit: (-hit[1], hit[0].id))
        return hits[: self.check_limit(limit)]


class TiesByUtf16(ReferenceStore):
    def best(self, scored, limit, min_score):
        hits = super().best(scored, None, min_score)
        hits.sort(key=lambda hit: (hit[1], hit[0].id.encode("utf-16-be")), reverse=True)
        return hits[: self.check_limit(limit)]


class TiesOrderedAfterTheCut(ReferenceStore):
    def best(self, scored, limit, min_score):
        top = sorted(scored, key=lambda hit: -hit[1])[: self.check_limit(limit)]
        return super().best(top, limit, min_score)


class WorstFirst(ReferenceStore):
    def best(self, scored, limit, min_score):
        return super().best(scored, None, min_score)[::-1][: self.check_limit(limit)]


class MinScoreInclusive(ReferenceStore):
    def best(self, scored, limit, min_score):
        return super().best(scored, limit, min_score - 1e-12)


class MinScoreIgnored(ReferenceStore):
    def best(self, scored, limit, min_score):
        return super().best(scored, limit, 0.0)


class MinScoreAfterTheCut(ReferenceStore):
    def search_text(self, query, /, *, min_score=0.0, **options):
        hits = super().search_text(query, min_score=0.0, **options)
        return [hit for hit in hits if hit[1] > min_score][: max(0, len(hits) - 1) or None]


class IntegerScores(ReferenceStore):
    def best(self, scored, limit, min_score):
        return [
            (e, score if score % 1 else int(score))
            for e, score in super().best(scored, limit, min_score)
        ]
