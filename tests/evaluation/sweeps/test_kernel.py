"""The compiled engine against NumPy, and against a bare loop: the same ranks, the same bytes."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nousmem
import nousmem as nm
from nousmem.corpora import Query
from nousmem.evaluation._updates import UpdateMarks
from nousmem.evaluation.measures import Judgements, parse_measures
from nousmem.evaluation.sweeps import _kernel as kernel
from nousmem.evaluation.sweeps import _loops as loops
from nousmem.evaluation.sweeps._successors import Successors
from nousmem.evaluation.sweeps.candidate_arrays import CandidateArrays
from nousmem.evaluation.sweeps.values import composite_scores, score_settings, watched_ranks

pytest.importorskip("numba")

MEASURES = parse_measures(
    ["nDCG@3", "nDCG", "R@2", "P@5", "RR", "RR@2", "AP", "AP@3", "Success@1", "AllRel@4"]
)
FRESH = parse_measures(["Fresh@1", "Fresh@4"])
NOW = datetime(2026, 1, 1, tzinfo=UTC)

SCORINGS = st.lists(
    st.builds(
        nm.Scoring,
        decay_lambda=st.sampled_from([0, 1e-3, 0.05]),
        w_relevance=st.sampled_from([-1, 0, 0.5, 1 / 3]),
        w_importance=st.sampled_from([-0.3, 0, 0.7]),
        w_recency=st.sampled_from([None, 0, 0.2]),
        recency_lambda=st.sampled_from([0.01, 0.1]),
        rrf_k=st.sampled_from([0, 60]),
        fusion=st.sampled_from(["rrf", "rrf_raw", "convex"]),
        w_text=st.sampled_from([1, 0]),
        w_vector=st.sampled_from([1, 2]),
        decay_curve=st.sampled_from(["exponential", "hyperbolic", "power", "step"]),
        decay_clock=st.sampled_from(["last_access", "creation"]),
        decay_floor=st.sampled_from([0, 0.2]),
        decay_importance=st.sampled_from([0, 0.5, 1]),
        min_score=st.sampled_from([0, 0.25, -1]),
        update_penalty=st.sampled_from([0, 0.05, 1]),
        update_lambda=st.sampled_from([0, 1e-3]),
        update_takeover=st.sampled_from([0, 0.5, 1]),
        update_similarity=st.sampled_from([-1, 0.1, 0.4]),
        update_ratio=st.sampled_from([0, 0.7, 0.95]),
        update_depth=st.sampled_from([0, 3, 10]),
    ),
    min_size=1,
    max_size=12,
)


class Given(Successors):
    """Similarities that belong to no vectors."""

    def __init__(self, cosines: np.ndarray) -> None:
        self._kept = cosines
        self._lock = threading.Lock()


def made_up(seed: int) -> CandidateArrays:
    """Arrays with many equal scores, lists of any length, and judged entries not in them."""
    rng = np.random.default_rng(seed)
    n, c = int(rng.integers(1, 6)), int(rng.integers(0, 14))
    present = np.arange(c) < rng.integers(0, c + 1, (n, 1))
    ranks = np.where(present, rng.integers(0, 4, (2, n, c)), 0)
    ranks[0] = np.where(present & ~ranks.any(axis=0), 1, ranks[0])
    ids = [f"d{at:02d}" for at in range(c - 1, -1, -1)]
    doc_ids = tuple(tuple(np.array(ids)[row].tolist()) for row in present)
    known = [*ids, "x", "y"]

    def some(low: int) -> list[str]:
        return rng.choice(known, min(len(known), int(rng.integers(low, 5))), replace=False).tolist()

    judged = [(q, doc_id) for q in range(n) for doc_id in some(1)]
    queries = []
    for q in range(n):
        marked = some(0)
        metadata = {"newest": marked[:1], "outdated": marked[1:]} if marked else {}
        queries.append(Query(f"q{q}", "?", now=NOW, metadata=metadata))
    judgements = Judgements(
        tuple(query.query_id for query in queries),
        np.array([q for q, _ in judged]),
        tuple(doc_id for _, doc_id in judged),
        rng.integers(1, 4, len(judged)).astype(float),
        0,
    )
    marks = UpdateMarks.of(queries, judgements.query_ids)
    watched = [*judged, *zip(marks.query_index.tolist(), marks.doc_ids, strict=True)]
    moments = int(NOW.timestamp()) - 3600 * 24 * rng.integers(0, 2, (2, n, c))
    cosines = np.where(rng.random((n, c, c)) < 0.5, np.nan, rng.integers(-1, 3, (n, c, c)) / 2)
    return CandidateArrays(
        queries=tuple(queries),
        judgements=judgements,
        doc_ids=doc_ids,
        legs=("text", "vector"),
        ranks=ranks,
        leg_scores=np.where(ranks > 0, rng.integers(1, 4, ranks.shape) / 3, np.nan),
        importance=rng.integers(0, 2, (n, c)) / 2,
        access_count=rng.integers(0, 4, (n, c)),
        last_accessed=moments.max(axis=0),
        created=moments.min(axis=0),
        evergreen=rng.random((n, c)) < 0.2,
        present=present,
        now=np.full(n, int(NOW.timestamp())),
        marks=marks,
        watched_query=np.array([q for q, _ in watched], dtype=np.intp),
        watched_column=np.array(
            [doc_ids[q].index(d) if d in doc_ids[q] else -1 for q, d in watched], dtype=np.intp
        ),
        successors=Given(cosines.astype(np.float32)),
    )


def sorted_ranks(arrays: CandidateArrays, scores: np.ndarray) -> list[int]:
    """Each query's candidates sorted by score and id, and looked up: the rule written out."""
    rankings = [
        sorted(
            ((s, d) for s, d in zip(row, ids, strict=False) if s > -math.inf),
            reverse=True,
        )
        for row, ids in zip(scores.tolist(), arrays.doc_ids, strict=True)
    ]
    doc_ids = (*arrays.judgements.doc_ids, *arrays.marks.doc_ids)
    return [
        next((rank for rank, (_, one) in enumerate(rankings[q], 1) if one == doc_id), 0)
        for q, doc_id in zip(arrays.watched_query, doc_ids, strict=True)
    ]


def compiled_ranks(arrays: CandidateArrays, scorings: list[nm.Scoring]) -> np.ndarray:
    found = np.full((len(scorings), len(arrays.watched_query)), -1, dtype=np.int32)

    def keep(ranks: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
        found[rows] = ranks

    watched = kernel._Watched.of(arrays)
    with ThreadPoolExecutor(1) as executor:
        for chunk in kernel._chunks(arrays, scorings, executor):
            kernel._measure_block(watched, [keep], np.zeros(0), chunk, slice(None))
    return found


@settings(max_examples=60)
@given(st.integers(0, 10**6), SCORINGS)
def test_ranks_are_those_of_numpy_and_of_sorting(seed: int, scorings: list[nm.Scoring]) -> None:
    arrays = made_up(seed)
    compiled = compiled_ranks(arrays, scorings)
    for at, scores in enumerate(composite_scores(arrays, scorings)):
        expected = sorted_ranks(arrays, scores)
        assert watched_ranks(arrays, scores).tolist() == expected
        assert compiled[at].tolist() == expected


@settings(max_examples=60)
@given(st.integers(0, 10**6), SCORINGS)
def test_both_engines_give_the_same_bytes(seed: int, scorings: list[nm.Scoring]) -> None:
    arrays = made_up(seed)
    measures = MEASURES + FRESH if arrays.marks.n_queries else MEASURES
    by_numpy = score_settings(arrays, scorings, measures, engine="numpy")
    by_numba = score_settings(arrays, scorings, measures, engine="numba")
    assert by_numpy.shape == (len(scorings), len(measures), len(arrays))
    assert by_numpy.tobytes() == by_numba.tobytes()


def test_made_up_pools_have_what_is_to_be_tested() -> None:
    pools = [made_up(seed) for seed in range(100)]
    assert any(arrays.present.shape[1] == 0 for arrays in pools)
    assert any((~arrays.present).any() for arrays in pools)
    assert any((arrays.watched_column < 0).any() for arrays in pools)
    assert any(0 < arrays.marks.n_queries < len(arrays) for arrays in pools)
    tied = 0
    for arrays in pools:
        scores = next(composite_scores(arrays, [nm.Scoring()]))
        tied += any(
            len(set(row[row > -math.inf].tolist())) < (row > -math.inf).sum() for row in scores
        )
    assert tied > 20


MANY = [
    nm.Scoring(decay_lambda=rate, w_importance=weight, w_recency=recency, rrf_k=k)
    for rate in (0.0, 1e-4, 1e-3, 0.1)
    for weight in np.linspace(0, 1, 11).tolist()
    for recency in (0, 0.1)
    for k in (0, 5, 60)
]


def test_the_result_does_not_depend_on_threads_blocks_or_room(monkeypatch) -> None:
    arrays = made_up(11)
    expected = score_settings(arrays, MANY, MEASURES, engine="numpy").tobytes()
    for threads in (1, 2, 5):
        assert kernel.kernel_values(arrays, MANY, MEASURES, threads=threads).tobytes() == expected
    monkeypatch.setattr(kernel, "_BLOCK", 7)
    assert kernel.kernel_values(arrays, MANY, MEASURES).tobytes() == expected
    monkeypatch.setattr(kernel, "_TABLE_BYTES", 0)
    with ThreadPoolExecutor(1) as executor:
        chunks = list(kernel._chunks(arrays, MANY, executor))
    assert len(chunks) > 4
    assert all(len(table) == 1 for chunk in chunks for table in chunk.tables)
    assert kernel.kernel_values(arrays, MANY, MEASURES).tobytes() == expected


def test_what_settings_share_is_worked_out_once(monkeypatch) -> None:
    arrays = made_up(11)
    made: list[str] = []
    for name in ("relevance_under", "decay_under", "recency_under"):
        real = getattr(CandidateArrays, name)

        def counted(self, scoring, real=real, name=name):
            made.append(name)
            return real(self, scoring)

        monkeypatch.setattr(CandidateArrays, name, counted)
    kernel.kernel_values(arrays, MANY, MEASURES)
    assert made.count("decay_under") == 4
    assert made.count("relevance_under") == 3
    made.clear()
    list(composite_scores(arrays, MANY))
    assert made.count("decay_under") == 4
    assert made.count("recency_under") == 1


def test_progress_counts_every_setting() -> None:
    done: list[int] = []
    kernel.kernel_values(made_up(3), MANY, MEASURES, advance=done.append)
    assert sum(done) == len(MANY)
    assert len(done) > 1


def test_no_settings_is_no_values() -> None:
    for engine in ("numpy", "numba"):
        assert score_settings(made_up(3), [], MEASURES, engine=engine).shape[0] == 0


def test_two_sweeps_at_a_time_do_not_disturb_each_other() -> None:
    arrays = made_up(11)
    expected = score_settings(arrays, MANY, MEASURES, engine="numpy").tobytes()
    with ThreadPoolExecutor(4) as executor:
        found = executor.map(lambda _: kernel.kernel_values(arrays, MANY, MEASURES), range(12))
        assert {values.tobytes() for values in found} == {expected}


def test_an_error_in_a_worker_comes_out(monkeypatch) -> None:
    def fail(self, scoring):
        raise nm.InvalidParameter("made to fail")

    monkeypatch.setattr(CandidateArrays, "decay_under", fail)
    with pytest.raises(nm.InvalidParameter, match="made to fail"):
        kernel.kernel_values(made_up(3), MANY, MEASURES)


@pytest.mark.parametrize("name", loops.__all__)
def test_what_is_compiled_is_plain_python(name: str) -> None:
    assert type(getattr(loops, name)) is type(made_up)


ONE_SWEEP = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import numpy as np
import nousmem
from nousmem.evaluation.sweeps import _loops as loops, _writers as writers
assert Path(nousmem.__file__).is_relative_to(sys.argv[1]), nousmem.__file__
values = np.zeros((1, 1, 1))
ranks = np.ones((1, 1), dtype=np.int32)
starts = np.array([0, 1])
write = writers.compiled(loops.write_reciprocal_rank)
write(0, np.array([0.0, 1.0]), starts, ranks, np.array([0]), values)
assert values[0, 0, 0] == 1.0
print(type(write).__name__)
"""


@pytest.mark.parametrize("place", ["named", "beside", "home", "nowhere"])
def test_machine_code_is_cached_where_it_can_be(tmp_path: Path, place: str) -> None:
    """A package that cannot be written to still sweeps; so does a user without a home."""
    package = tmp_path / "site" / "nousmem"
    package.parent.mkdir()
    source = Path(nousmem.__file__).parent
    package.mkdir()
    for path in source.rglob("*.py"):
        copied = package / path.relative_to(source)
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_bytes(path.read_bytes())
    # A file stands where the folder would be: that holds for every user, root too.
    blocked = package / "evaluation" / "sweeps" / "__pycache__"
    if place != "beside":
        blocked.write_text("")
    home = tmp_path / "home"
    home.mkdir()
    if place == "nowhere":
        (home / ".cache").write_text("")
    unset = {"XDG_CACHE_HOME", "NUMBA_CACHE_DIR"}
    environment = {k: v for k, v in os.environ.items() if k not in unset} | {"HOME": str(home)}
    if place == "named":
        environment["NUMBA_CACHE_DIR"] = str(tmp_path / "named")
    done = subprocess.run(
        [sys.executable, "-B", "-c", ONE_SWEEP, str(package.parent)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "CPUDispatcher"
    cached = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*.nbi")}
    expected = {"named": {"named"}, "beside": {"site"}, "home": {"home"}, "nowhere": set()}
    assert cached == expected[place]
