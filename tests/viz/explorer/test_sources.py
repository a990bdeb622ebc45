"""What an explorer may be given by the name of one's own code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import nousmem as nm
from nousmem.errors import InvalidParameter
from nousmem.viz.explorer._sources import open_sources

OWN = """
import nousmem as nm

def load_mine():
    return nm.load_corpus("assistant-year")

STORE = nm.open_store("memory:")
STORE.put([nm.Entry("tea")])

def opened():
    return STORE

def nothing():
    return None
"""


def test_a_corpus_or_a_store_of_ones_own_is_explored(own_code: Callable[..., Path]) -> None:
    own_code(mine=OWN)
    corpus, store, held = open_sources(
        {"year": "mine:load_mine", "opened": "mine:opened", "held": "mine:STORE"}, embedder=None
    )
    assert isinstance(corpus.corpus, nm.Corpus)
    assert store.corpus is None
    assert not store.empty
    assert not held.empty
    with pytest.raises(InvalidParameter, match="source 'mine:nothing' returned None: expected a C"):
        open_sources("mine:nothing", embedder=None)
