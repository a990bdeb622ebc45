"""What evaluations run on: the Corpus type, the loaders, and the bundled corpora."""

from nousmem.corpora.beam import load_beam
from nousmem.corpora.beir import load_beir
from nousmem.corpora.corpus import Card, Corpus, Partition, Query
from nousmem.corpora.frames import corpus_from_frames, load_tables
from nousmem.corpora.locomo import load_locomo
from nousmem.corpora.longmemeval import load_longmemeval
from nousmem.corpora.registry import list_corpora, load_corpus, recognise_corpus
from nousmem.corpora.table_entries import read_entries
from nousmem.corpora.trec import load_trec

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
