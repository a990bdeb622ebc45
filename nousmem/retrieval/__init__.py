"""The heart: what is searched, how it is found, and the ranking that comes of it."""

from __future__ import annotations

from nousmem.retrieval._cross_encoder import CrossEncoderLeg
from nousmem.retrieval.candidates import Candidates, ScoreParts
from nousmem.retrieval.hits import Hit, Hits
from nousmem.retrieval.legs import FindingLeg, Leg, LegRequest, ScoringLeg, TextLeg, VectorLeg
from nousmem.retrieval.search import DegradedSearchWarning, OtherEmbedderWarning, Search
from nousmem.retrieval.settings import Injection, Retrieval, Settings
from nousmem.retrieval.terms import Term, term

__all__ = [
    "Candidates",
    "CrossEncoderLeg",
    "DegradedSearchWarning",
    "FindingLeg",
    "Hit",
    "Hits",
    "Injection",
    "Leg",
    "LegRequest",
    "OtherEmbedderWarning",
    "Retrieval",
    "ScoreParts",
    "ScoringLeg",
    "Search",
    "Settings",
    "Term",
    "TextLeg",
    "VectorLeg",
    "term",
]
