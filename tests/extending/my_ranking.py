"""Parts of a ranking of somebody's own: a module as a user writes it, with public names only."""

from dataclasses import dataclass

import numpy as np

import nousmem as nm
from nousmem import evaluation as ev


@nm.term
def frequency(candidates):
    return np.log1p(candidates.access_count) / np.log(101)


@nm.term(decays=True)
def brevity(candidates):
    return np.array([1 / (1 + len(entry.content) / 100) for entry in candidates.entries])


def linear(hours, decay_lambda):
    return np.maximum(0, 1 - decay_lambda * hours / (2 * np.log(2)))


def reciprocal_score(legs):
    parts = [
        weight / (1.1 - np.clip(scores, 0, 1))
        for weight, scores in zip(legs.weights, legs.scores, strict=True)
    ]
    return np.nansum(parts, axis=0) / 20


@dataclass(frozen=True)
class MetadataLeg:
    key: str = "topic"
    name: str = "metadata"

    def search(self, request):
        words = set(request.query.lower().split())
        scored = [
            (entry, len(words & set(str(entry.metadata.get(self.key, "")).lower().split())))
            for entry in request.entries()
        ]
        found = sorted((one for one in scored if one[1]), key=lambda one: (-one[1], one[0].id))
        return found[: request.depth]


@dataclass(frozen=True)
class ByCount:
    """Penalise once for each newer candidate that is similar."""

    penalty: float = 0.1

    def __call__(self, relevance, similarity, created):
        return (1 - self.penalty) ** (similarity >= 0.3).sum(axis=1)


@ev.measure(cutoff=10)
def ERR(ranks, gains, max_gain):  # noqa: N802  # as it is written in the literature
    stops, total, left = (2**gains - 1) / 2**max_gain, 0.0, 1.0
    for at in np.argsort(ranks):
        if ranks[at]:
            total += left * stops[at] / ranks[at]
            left *= 1 - stops[at]
    return total


def shed():
    """A corpus of one's own."""
    return nm.corpus_from_frames(
        [{"id": "a", "text": "the key hangs in the shed"}, {"id": "b", "text": "rye is sold out"}],
        [{"query_id": "q", "text": "where is the key"}],
        [{"query_id": "q", "doc_id": "a", "relevance": 1}],
    )


def store_of(partition):
    """A store for each partition."""
    return nm.open_store("memory:")
