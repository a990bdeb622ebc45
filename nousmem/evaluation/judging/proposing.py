"""Judging one's own queries: which candidates to label, and how far the labels reach.

As at TREC, a pool is judged instead of the whole store: the union of what each leg ranks
highest. What is in no pool counts as not relevant, so that a leg, model or setting that was not
pooled may be measured worse than it is. The tables of this module say how much that can matter.
A ranking by the pooled legs, read no deeper than they were pooled, holds judged entries only: so
measure with that `depth=`. Read deeper, decay and importance pull up what nobody judged.

Sources: Spärck Jones and van Rijsbergen 1975 (the pool); Zobel 1998, "How reliable are the
results of large-scale information retrieval experiments?" (leaving one contributor out).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from nousmem.checks import check_whole
from nousmem.corpora import Query
from nousmem.corpora.files import PathLike
from nousmem.corpora.frames import read_queries
from nousmem.corpora.tables import Row
from nousmem.embeddings.base import Embedder
from nousmem.errors import CorpusError, InvalidParameter
from nousmem.evaluation._progress import progress_bar
from nousmem.evaluation.judging.judgement_file import LEVELS, Judgement, JudgementFile, read_qrels
from nousmem.retrieval.candidates import LEGS, Candidates
from nousmem.retrieval.finding import active_legs, find, query_vectors
from nousmem.retrieval.legs import FindingLeg, leg_name
from nousmem.retrieval.search import Search
from nousmem.retrieval.settings import Retrieval
from nousmem.stores import Store

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "LEVELS",
    "Judgement",
    "JudgementFile",
    "judged_at",
    "judged_share",
    "leg_contributions",
    "propose_pool",
    "read_qrels",
]


def propose_pool(
    search: Search | Store,
    queries: Iterable[Query] | Iterable[str] | pd.DataFrame | PathLike | Iterable[Row],
    *,
    depth: int = 30,
    embedder: Embedder | None = None,
    retrieval: Retrieval | None = None,
    as_of: bool = True,
    seed: int = 0,
    progress: bool = False,
) -> pd.DataFrame:
    """Return the candidates to judge for each query: what any leg ranks `depth` deep or better.

    Within a query, candidates stand in an order that depends on the seed and their ids alone, so
    that a place says nothing about a rank, and a deeper pool keeps the order of a shallower one.

    Args:
        search: A store; or a Search, whose store, embedder and legs are used.
        queries: Queries, as a corpus has them; or texts; or a table of them, as
            `corpus_from_frames` reads it. Texts get the ids q1, q2 and so on.
        depth: Entries read from each leg.
        embedder: Makes the queries' vectors, where a store is given; None reads the text leg.
        retrieval: Its legs are read, where a store is given; None is all the built-in ones that
            store and embedder allow. A leg that only scores proposes nothing, and is left out.
        as_of: Whether entries later than a query's `as_of` are invisible to it.
        seed: Chooses the order.
        progress: Show a progress bar.

    Returns:
        One candidate a row, by query in the order given; a query nothing is found for has no row.
        Columns:
            query_id: The query.
            text: What it asks.
            as_of: When it was asked, UTC; missing where that is not known.
            doc_id: The candidate's id.
            content: Its text.
            created_at: When it was remembered, UTC.
            text_rank, vector_rank, and NAME_rank for each leg of one's own: Its rank in the leg
                from 1, missing where the leg does not rank it that high. Not for the judge's
                eyes.
            n_legs: How many legs propose it.
            pool: The legs that were read and how deep, such as `text+vector@30`.

    Raises:
        InvalidParameter: `depth` is not a whole number above 0; the vector leg is asked for and
            the store cannot search vectors; an embedder or a retrieval is given beside a Search;
            the queries are of no known kind.
        CorpusError: the queries' table is faulty, or a query_id repeats.
        EmbedderError: the embedder failed.
        ExtensionError: a leg of one's own broke its rules.
    """
    depth = check_whole("depth", depth, least=1)
    if isinstance(search, Search):
        if embedder is not None or retrieval is not None:
            raise InvalidParameter("embedder and retrieval belong to the Search: set them there")
    else:
        search = Search(search, embedder, retrieval=retrieval)
    store, embedder = search.store, search.embedder
    active = active_legs(search.retrieval, store, has_vector=embedder is not None)
    legs = [leg for leg in active if isinstance(leg, str | FindingLeg)]
    names, read = [leg_name(leg) for leg in legs], Retrieval(legs=legs, depth=depth)
    asked = _queries(queries)
    vectors = query_vectors([read], store, embedder, [query.text for query in asked])
    rows: list[dict[str, object]] = []
    with progress_bar(len(asked), "queries", show=progress) as advance:
        for query in asked:
            found = find(
                store,
                query.text,
                retrieval=read,
                now=query.now,
                embedder=embedder if vectors else None,
                vector=vectors.get(query.text),
                scope=query.scope,
                as_of=query.as_of if as_of else None,
            )
            rows += _rows(query, found, seed=seed)
            advance(1)
    return _frame(rows, legs=names, pool=f"{'+'.join(names)}@{depth}")


def _queries(
    queries: Iterable[Query] | Iterable[str] | pd.DataFrame | PathLike | Iterable[Row],
) -> list[Query]:
    if isinstance(queries, str | Path) or hasattr(queries, "columns"):
        return read_queries(cast("Any", queries))
    if not isinstance(queries, Iterable):
        raise InvalidParameter(
            f"expected queries, texts, or a table of queries, got {type(queries).__name__}"
        )
    given = list(cast("Iterable[Any]", queries))
    if not all(isinstance(one, Query) for one in given):
        return read_queries([{"text": one} if isinstance(one, str) else one for one in given])
    seen: set[str] = set()
    for query in cast("list[Query]", given):
        if query.query_id in seen:
            raise CorpusError(f"queries: the query_id repeats ({query.query_id})")
        seen.add(query.query_id)
    return given


def _rows(query: Query, found: Candidates, *, seed: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = [
        {
            "query_id": query.query_id,
            "text": query.text,
            "as_of": query.as_of,
            "doc_id": entry.id,
            "content": entry.content,
            "created_at": entry.created_at,
            **{f"{leg}_rank": int(found.ranks[row, at]) for row, leg in enumerate(found.legs)},
            "n_legs": int((found.ranks[:, at] > 0).sum()),
        }
        for at, entry in enumerate(found.entries)
    ]
    return sorted(rows, key=lambda row: _place(seed, query.query_id, str(row["doc_id"])))


def _place(seed: int, query_id: str, doc_id: str) -> bytes:
    return blake2b(f"{seed}\0{query_id}\0{doc_id}".encode("utf-8", "surrogatepass")).digest()


def _frame(rows: list[dict[str, object]], *, legs: Sequence[str], pool: str) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, pd.Series[Any]] = {
        name: pd.Series([row[name] for row in rows], dtype=dtype)
        for name, dtype in (
            ("query_id", "str"),
            ("text", "str"),
            ("as_of", "datetime64[us, UTC]"),
            ("doc_id", "str"),
            ("content", "str"),
            ("created_at", "datetime64[us, UTC]"),
        )
    }
    for leg in dict.fromkeys((*LEGS, *legs)):
        ranks = pd.Series([row.get(f"{leg}_rank", 0) for row in rows], dtype="Int64")
        columns[f"{leg}_rank"] = ranks.mask(ranks == 0)
    columns["n_legs"] = pd.Series([row["n_legs"] for row in rows], dtype="int64")
    columns["pool"] = pd.Series([pool] * len(rows), dtype="str")
    return pd.DataFrame(columns)


def judged_share(pool: pd.DataFrame, qrels: pd.DataFrame) -> pd.DataFrame:
    """Return how far each query's pool is judged, one query a row, in the pool's order.

    Args:
        pool: As `propose_pool` returns it.
        qrels: Columns query_id, doc_id, relevance.

    Columns:
        query_id: The query.
        n_candidates: Size of its pool.
        n_judged: How many of these are judged.
        share: n_judged / n_candidates, 0 to 1.
        n_relevant: How many of the judged are relevant (above 0).

    Raises:
        InvalidParameter: a table lacks a column.
    """
    _need(pool, ("query_id", "doc_id"), what="the pool")
    _need(qrels, ("query_id", "doc_id", "relevance"), what="the qrels")
    merged = pool[["query_id", "doc_id"]].merge(
        qrels[["query_id", "doc_id", "relevance"]], on=["query_id", "doc_id"], how="left"
    )
    table = (
        merged.assign(relevant=merged["relevance"] > 0)
        .groupby("query_id", sort=False)
        .agg(
            n_candidates=("doc_id", "size"),
            n_judged=("relevance", "count"),
            n_relevant=("relevant", "sum"),
        )
        .reset_index()
    )
    table.insert(3, "share", table["n_judged"] / table["n_candidates"])
    return table


def leg_contributions(qrels: pd.DataFrame) -> pd.DataFrame:
    """Return what each leg brought to the judgements, one leg a row: leave-one-leg-out.

    Had a leg been left out of the pool, its unique relevant entries would be unjudged, and count
    as not relevant. A share near 0 says that the judgements hardly depend on this leg; where
    each leg's is large, one that is not pooled would find relevant entries nobody judged, and
    its measures cannot be trusted. (Zobel 1998.)

    Args:
        qrels: As `read_qrels` returns them. Where legs of one's own were read, their ranks have to
            be put beside these from the pool, since a file of judgements does not keep them:
            `qrels.merge(pool[["query_id", "doc_id", "own_rank"]])`.

    Columns:
        leg: Those that were read for any judgement: text, vector, then others by name.
        n_judged: Judged entries that the leg proposed.
        n_relevant: How many of these are relevant (above 0).
        n_unique: How many of these no other leg proposed.
        unique_share: n_unique over all relevant entries judged, 0 to 1; missing without any.
        deepest: The deepest rank at which the leg found a relevant entry; missing without any.
            Near the pool's depth, a deeper pool would find more.

    Raises:
        InvalidParameter: the qrels lack a column.
    """
    import pandas as pd

    _need(qrels, ("relevance", "pool"), what="the qrels")
    read = {leg for pool in set(qrels["pool"]) for leg in str(pool).partition("@")[0].split("+")}
    own = sorted(read.difference(LEGS, {""}))
    ranked = {leg: f"{leg}_rank" for leg in (*LEGS, *own)}
    _need(qrels, tuple(ranked.values()), what="the qrels")
    proposed = pd.DataFrame({leg: qrels[column].notna() for leg, column in ranked.items()})
    relevant = qrels["relevance"] > 0
    alone = relevant & (proposed.sum(axis="columns") == 1)
    rows: list[dict[str, object]] = []
    for leg in (leg for leg in ranked if leg in read):
        unique = int((alone & proposed[leg]).sum())
        total = int(relevant.sum())
        rows.append(
            {
                "leg": leg,
                "n_judged": int(proposed[leg].sum()),
                "n_relevant": int((relevant & proposed[leg]).sum()),
                "n_unique": unique,
                "unique_share": unique / total if total else float("nan"),
                "deepest": qrels.loc[relevant, ranked[leg]].max(),
            }
        )
    names = ("leg", "n_judged", "n_relevant", "n_unique", "unique_share", "deepest")
    return pd.DataFrame(rows, columns=list(names)).astype({"deepest": "Int64"})


def judged_at(run: pd.DataFrame, qrels: pd.DataFrame, *, k: int = 10) -> pd.DataFrame:
    """Return which share of each query's first k entries is judged at all, one query a row.

    Below 1, the measures of this run count entries as not relevant that nobody looked at. Equal
    scores are ordered by descending doc_id, as everywhere. (Judged@k of ir_measures.)

    Args:
        run: Columns query_id, doc_id, score.
        qrels: Columns query_id, doc_id, relevance.
        k: Places looked at; of a shorter ranking, all.

    Columns:
        query_id: Those with a judgement and a result.
        Judged@k: The share, 0 to 1; the column is called after k, such as `Judged@10`.

    Raises:
        InvalidParameter: a table lacks a column; k is not a whole number above 0.
    """
    k = check_whole("k", k, least=1)
    _need(run, ("query_id", "doc_id", "score"), what="the run")
    _need(qrels, ("query_id", "doc_id"), what="the qrels")
    ordered = run.sort_values(
        ["query_id", "score", "doc_id"], ascending=[True, False, False], kind="stable"
    )
    top = ordered.groupby("query_id").head(k)
    top = top[top["query_id"].isin(set(qrels["query_id"]))]
    judged = set(zip(qrels["query_id"], qrels["doc_id"], strict=True))
    seen = [pair in judged for pair in zip(top["query_id"], top["doc_id"], strict=True)]
    table = top.assign(seen=seen).groupby("query_id")["seen"].mean().reset_index()
    return table.rename(columns={"seen": f"Judged@{k}"})


def _need(table: pd.DataFrame, columns: Sequence[str], *, what: str) -> None:
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise InvalidParameter(
            f"{what} must have the columns {', '.join(columns)}; missing: {', '.join(missing)}"
        )
