"""The conformance suite finds what is wrong with an embedder, and nothing else."""

import itertools

import numpy as np
import pytest

from nousmem.embeddings import HashingEmbedder

BROKEN = {}


def broken(*failing, others=False):
    """Register an embedder with the tests that must fail; whether others may."""

    def register(kind):
        BROKEN[kind.__name__] = (kind, set(failing), others)
        return kind

    return register


@broken()
class Sound(HashingEmbedder):
    pass


@broken("test_is_an_embedder", others=True)
class NoQueries:
    fingerprint = "no queries"
    dimension = 8

    def embed_documents(self, texts):
        return HashingEmbedder(8).embed_documents(texts)


class Wrapped(HashingEmbedder):
    def change(self, rows, texts):
        return rows

    def embed_documents(self, texts):
        return self.change(super().embed_documents(texts), texts)


@broken("test_query_finds_its_document", "test_texts_differ")
class Constant(Wrapped):
    def change(self, rows, texts):
        return np.ones_like(rows)


@broken("test_order", "test_company", "test_query_finds_its_document")
class SortedByLength(Wrapped):
    """Forgets to put the rows back in the order of the texts."""

    def change(self, rows, texts):
        return rows[sorted(range(len(texts)), key=lambda n: -len(texts[n]))]


@broken("test_company", "test_order")
class CentredOnItsBatch(Wrapped):
    def change(self, rows, texts):
        return rows - rows.mean(axis=0) if len(rows) > 1 else rows


@broken("test_unusual_text")
class NothingForBlanks(Wrapped):
    def change(self, rows, texts):
        rows[[n for n, text in enumerate(texts) if not text.strip()]] = 0
        return rows


@broken("test_again", "test_company", "test_order", "test_a_result_is_the_callers", "test_threads")
class Noisy(Wrapped):
    def change(self, rows, texts):
        noise = np.random.default_rng().normal(0, 1e-3, rows.shape)
        return (rows + noise).astype(np.float32)


@broken("test_no_texts")
class NoShapeForNothing(Wrapped):
    def change(self, rows, texts):
        return rows if len(texts) else np.empty(0, dtype=np.float32)


@broken("test_a_result_is_the_callers")
class RemembersItsArrays(Wrapped):
    known = {}  # noqa: RUF012 - shared on purpose

    def change(self, rows, texts):
        return self.known.setdefault(tuple(texts), rows)


@broken("test_dimension_is_a_whole_number")
class DimensionAsFloat(Wrapped):
    dimension = 256.0


@broken("test_fingerprint_is_text")
class BlankFingerprint(Wrapped):
    fingerprint = " "


@broken("test_fingerprint_stays")
class CountedFingerprint(Wrapped):
    count = itertools.count()

    @property
    def fingerprint(self):
        return f"number {next(self.count)}"


@broken("test_texts_are_left_alone", "test_company", "test_order", "test_threads")
class SortsItsInput(Wrapped):
    def embed_documents(self, texts):
        rows = super().embed_documents(texts)
        if isinstance(texts, list):
            texts.sort()
        return rows


@broken("test_one_row_a_text", "test_unusual_text", "test_no_texts", others=True)
class DoublePrecision(Wrapped):
    def change(self, rows, texts):
        return rows.astype(np.float64)


@broken("test_one_row_a_text", "test_unusual_text", others=True)
class NotFinite(Wrapped):
    def change(self, rows, texts):
        rows[-1:, 0] = np.nan
        return rows


SUITE = """
from nousmem.testing._embedder_conformance import EmbedderConformance

class TestIt(EmbedderConformance):
    kind = None

    def make_embedder(self):
        return self.kind()
"""


class Outcomes:
    """Which tests of a run failed, by their names without parameters."""

    def __init__(self, kind):
        self.kind = kind
        self.failed = set()
        self.count = 0

    def pytest_collection_modifyitems(self, items):
        items[0].cls.kind = self.kind

    def pytest_runtest_logreport(self, report):
        self.count += report.when == "call"
        if report.failed:
            self.failed.add(report.nodeid.split("::")[-1].split("[")[0])


@pytest.mark.parametrize("name", BROKEN)
def test_the_suite_finds_the_fault(name, tmp_path, capsys):
    kind, expected, others = BROKEN[name]
    file = tmp_path / f"test_{name.lower()}.py"
    file.write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    outcomes = Outcomes(kind)
    options = ["-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}"]
    pytest.main([str(file), "-c", str(tmp_path / "pytest.ini"), *options], [outcomes])
    shown = capsys.readouterr().out[-3000:]
    assert outcomes.count > 30, shown
    assert expected <= outcomes.failed, shown
    assert others or outcomes.failed <= expected, shown
