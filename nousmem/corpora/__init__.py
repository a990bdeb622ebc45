"""What evaluations run on: the Corpus type, the loaders, and the bundled corpora."""

from nousmem.corpora._beam import load_beam
from nousmem.corpora._beir import load_beir
from nousmem.corpora._corpus import Card, Corpus, Partition, Query
from nousmem.corpora._locomo import load_locomo
from nousmem.corpora._longmemeval import load_longmemeval
from nousmem.corpora._table_entries import read_entries
from nousmem.corpora._trec import load_trec
from nousmem.corpora.frames import corpus_from_frames, load_tables
from nousmem.corpora.registry import list_corpora, load_corpus, recognise_corpus

__all__ = [
    "Card",
    "Corpus",
    "Partition",
    "Query",
    "corpus_from_frames",
    "list_corpora",
    "load_beam",
    "load_beir",
    "load_corpus",
    "load_locomo",
    "load_longmemeval",
    "load_tables",
    "load_trec",
    "read_entries",
    "recognise_corpus",
]
