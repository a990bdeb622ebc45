"""Stores with one fault each in what they keep of an entry, or in how they score it."""

import json
import re
from datetime import datetime

import numpy as np
from reference_store import ReferenceStore

from nousmem import errors


class DropsMetadata(ReferenceStore):
    def keep(self, entry):
        return entry.replace(metadata={})


class MetadataAsText(ReferenceStore):
    def keep(self, entry):
        return entry.replace(metadata={key: str(value) for key, value in entry.metadata.items()})


class MetadataNumbersAsFloats(ReferenceStore):
    def keep(self, entry):
        return entry.replace(metadata=json.loads(json.dumps(entry.metadata), parse_int=float))


class TruncatesMicroseconds(ReferenceStore):
    def keep(self, entry):
        return entry.replace(created_at=entry.created_at.replace(microsecond=0))


class TimesAsFloats(ReferenceStore):
    def keep(self, entry):
        return entry.replace(created_at=entry.created_at.timestamp() // 1e-6 * 1e-6)


class NoTimeBefore1970(ReferenceStore):
    def keep(self, entry):
        epoch = datetime.fromisoformat("1970-01-01T00:00Z")
        return entry.replace(created_at=max(epoch, entry.created_at))


class NaiveLocalTimes(ReferenceStore):
    """Writes what the clock on the wall shows, and reads it as the clock shows it then."""

    def keep(self, entry):
        self.walls = getattr(self, "walls", {})
        self.walls[entry.id] = entry.created_at.astimezone().replace(tzinfo=None)
        return entry

    def get(self, entry_id, /):
        entry = super().get(entry_id)
        return entry.replace(created_at=self.walls[entry_id].astimezone())


class OneTimeForAll(ReferenceStore):
    def keep(self, entry):
        return entry.replace(updated_at=entry.created_at)


class HalfPrecisionEmbeddings(ReferenceStore):
    def keep(self, entry):
        if entry.embedding is None:
            return entry
        rounded = np.float16(entry.embedding)
        return entry.replace(embedding=rounded, embedder=entry.embedder) if rounded.any() else entry


class NormalisesEmbeddings(ReferenceStore):
    def keep(self, entry):
        if entry.embedding is None:
            return entry
        wide = entry.embedding.astype(float)
        return entry.replace(embedding=wide / np.linalg.norm(wide), embedder=entry.embedder)


class StripsContent(ReferenceStore):
    def keep(self, entry):
        return entry.replace(
            content=entry.content.strip(), embedding=entry.embedding, embedder=entry.embedder
        )


class LimitsContent(ReferenceStore):
    def keep(self, entry):
        return entry.replace(
            content=entry.content[:10_000], embedding=entry.embedding, embedder=entry.embedder
        )


class DropsAccessCount(ReferenceStore):
    def keep(self, entry):
        return entry.replace(access_count=0)


class ForgetsTheEmbedder(ReferenceStore):
    def keep(self, entry):
        return entry.replace(embedding=entry.embedding)


class SearchReturnsBareEntries(ReferenceStore):
    def best(self, scored, limit, min_score):
        hits = super().best(scored, limit, min_score)
        return [(entry.replace(metadata={}, embedding=None), score) for entry, score in hits]


class BlocksOfOneThousand(ReferenceStore):
    def put(self, entries, /):
        given = list(entries)
        super().put(given[:1000])
        return len(given)


class EmbedderIgnored(ReferenceStore):
    def agree(self, made):
        super().agree([(length, None) for length, _ in made])


class MismatchNamesNobody(ReferenceStore):
    def agree(self, made):
        try:
            super().agree(made)
        except errors.EmbeddingMismatch:
            raise errors.EmbeddingMismatch("these vectors do not go together") from None


class LastWriterIsTheEmbedder(ReferenceStore):
    def check_embeddings(self, given):
        last = [entry for entry in self.held.values() if entry.embedding is not None][-1:]
        made = [*last, *(entry for entry in given if entry.embedding is not None)]
        self.agree([(entry.embedding.size, entry.embedder) for entry in made])


class BatchNotCheckedWithin(ReferenceStore):
    def check_embeddings(self, given):
        for entry in given:
            super().check_embeddings([entry])


class ChecksWithinScope(ReferenceStore):
    def search_vector(self, vector, /, **options):
        if not super().visible(options.get("scope", {}), None, None):
            return []
        return super().search_vector(vector, **options)


class NeverForgetsAnEmbedder(ReferenceStore):
    def agree(self, made):
        self.made = [*getattr(self, "made", []), *made]
        super().agree(self.made)


class AnotherLengthScoresZero(ReferenceStore):
    def check_query(self, vector, embedder):
        pass

    def cosine(self, vector, other):
        return super().cosine(vector, other) if vector.size == other.size else 0.0


class AcceptsAnyVector(ReferenceStore):
    def check_vector(self, vector):
        try:
            return super().check_vector(vector)
        except errors.InvalidVector:
            return np.ones(4, np.float32)


class ChecksOnlyWhenFilled(ReferenceStore):
    def check_vector(self, vector):
        return super().check_vector(vector) if self.held else np.ones(4, np.float32)


class DistanceForSimilarity(ReferenceStore):
    def cosine(self, vector, other):
        return 1.0 - super().cosine(vector, other)


class SquashedCosine(ReferenceStore):
    def cosine(self, vector, other):
        return (1.0 + super().cosine(vector, other)) / 2


class DotProduct(ReferenceStore):
    def cosine(self, vector, other):
        return float(vector.astype(float) @ other.astype(float))


class HalfPrecisionIndex(ReferenceStore):
    def cosine(self, vector, other):
        return round(super().cosine(vector, other), 3)


class FailsOnLists(ReferenceStore):
    def check_vector(self, vector):
        return super().check_vector(vector.astype(np.float32))


class UnembeddedMatchesEverything(ReferenceStore):
    def search_vector(self, vector, /, *, min_score=0.0, limit=10, **options):
        hits = super().search_vector(vector, min_score=min_score, limit=limit, **options)
        rest = [(e, 0.0) for e in self.held.values() if e.embedding is None and min_score < 0]
        return [*hits, *rest][:limit]


class InvertedTextScore(ReferenceStore):
    def text_score(self, query, entry):
        score = super().text_score(query, entry)
        return 1 / (1 + score) if score else 0.0


class TextScoreByRarity(ReferenceStore):
    def text_score(self, query, entry):
        return super().text_score(query, entry) * (len(self.held) - 1)


class EverythingMatches(ReferenceStore):
    def text_score(self, query, entry):
        return super().text_score(query, entry) + 0.01


class BlankMatchesEverything(ReferenceStore):
    def text_score(self, query, entry):
        return super().text_score(query, entry) if query.strip() else 1.0


class WildcardQuery(ReferenceStore):
    def text_score(self, query, entry):
        pattern = re.escape(query).replace("%", ".*").replace("_", ".")
        score = super().text_score(query, entry)
        return score or 0.5 * bool(query and re.search(pattern, entry.content))


class QueryIsSyntax(ReferenceStore):
    def text_score(self, query, entry):
        try:
            re.compile(query)
        except (re.error, RecursionError) as error:
            raise errors.StoreError(str(error)) from None
        return super().text_score(query, entry)


class OperatorsInQuery(ReferenceStore):
    def text_score(self, query, entry):
        return (
            0.0
            if re.search(r"\b(NOT|AND|OR)\b|[\\/:]", query)
            else super().text_score(query, entry)
        )


class AsciiContent(ReferenceStore):
    def text_score(self, query, entry):
        plain = entry.replace(content=entry.content.encode("ascii", "ignore").decode() or "?")
        return super().text_score(query.encode("ascii", "ignore").decode(), plain)


class WholeRunsOnly(ReferenceStore):
    def words(self, text):
        return set(re.findall(r"[^\W_]+", text.lower()))


class SplitsAtVowelSigns(ReferenceStore):
    def words(self, text):
        return {
            word for word in re.findall(r"[^\W_]+", text.lower()) if word.isascii() or len(word) > 4
        }


class RefusesLongQueries(ReferenceStore):
    def text_score(self, query, entry):
        if len(query.split()) > 256:
            raise errors.StoreError("expression tree is too large")
        return super().text_score(query, entry)


class SearchCountsAccess(ReferenceStore):
    def best(self, scored, limit, min_score):
        hits = super().best(scored, limit, min_score)
        self.put([e.replace(access_count=e.access_count + 1) for e, _ in hits])
        return hits


class FailsWhenEmpty(ReferenceStore):
    def best(self, scored, limit, min_score):
        if not self.held:
            raise errors.StoreError("nothing to search")
        return super().best(scored, limit, min_score)
