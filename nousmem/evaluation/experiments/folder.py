"""The folder an experiment's result lies in.

    experiment.json           what was asked
    settings.parquet          ExperimentResult.frame; also as .csv
    by_category.parquet       ExperimentResult.by_category
    tuned.parquet             ExperimentResult.tuned; also as .csv
    comparison.parquet        ExperimentResult.comparison; also as .csv
    conditions/000/           one condition; complete or not there
      scorings.parquet        one setting a row, every parameter a column (missing: None)
      queries.parquet         one measured query a row: query_id, text, category, group, and scope
      values.parquet          one setting and query a row: setting, query_id, one column a measure
      condition.json          key (what it was made from), corpus, embedder, excluded
      best.toml               the best setting, as `Scoring.to_toml` writes it
    best.toml                 where there is one condition: its best setting
    manifest.json             versions, commit, seconds: what varies from run to run

Equal experiments on equal data write equal bytes, but for the manifest.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from nousmem.errors import ExperimentError, NousmemError
from nousmem.evaluation.experiments.conditions import Condition, MeasuredCondition
from nousmem.evaluation.experiments.experiment import Experiment
from nousmem.evaluation.experiments.results import ExperimentResult
from nousmem.evaluation.measured import MeasuredQuery, MeasuredSettings
from nousmem.evaluation.measures import parse_measures
from nousmem.scope import SCOPE_FIELDS, Scope
from nousmem.scoring import Scoring

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ResultFolder", "read_result"]

_EXPERIMENT: Final = "experiment.json"
_MANIFEST: Final = "manifest.json"
_BEST: Final = "best.toml"
_CONDITION: Final = "condition.json"
_CONDITIONS: Final = "conditions"


class ResultFolder:
    """Writes and reads the folder of one experiment's result.

    Args:
        path: The folder; made when something is written.
        experiment: What is asked.
    """

    def __init__(self, path: str | Path, experiment: Experiment) -> None:
        self.path = Path(path)
        self._experiment = experiment

    def begin(self) -> None:
        """Say what is asked, so that an interrupted run can be taken up again.

        What another experiment asked is replaced where none of its conditions was measured, as
        where it failed on its data.

        Raises:
            ExperimentError: the folder holds the result of another experiment, or something else;
                or another process holds it.
        """
        file, document = self.path / _EXPERIMENT, self._experiment.to_document()
        if self.path.exists() and any(self.path.iterdir()):
            if not file.exists():
                raise ExperimentError(f"{self.path} holds no result: give an empty folder")
            changed = _changed(_asked(file), json.loads(_json(document)))
            if changed and not self._holds_measures():
                with self.held():
                    self.begin_anew()
                return
            if changed:
                raise ExperimentError(
                    f"{self.path} holds the result of another experiment (it differs in "
                    f"{', '.join(changed)}): give another folder, or remove it"
                )
        self.path.mkdir(parents=True, exist_ok=True)
        _write_text(file, _json(document))

    def begin_anew(self) -> None:
        """Say what is asked, in place of a result that is there; other files stay."""
        shutil.rmtree(self.path / _CONDITIONS, ignore_errors=True)
        self.path.mkdir(parents=True, exist_ok=True)
        _write_text(self.path / _EXPERIMENT, _json(self._experiment.to_document()))

    @contextmanager
    def held(self) -> Generator[None]:
        """Keep other processes from writing the folder, until the block ends or the process does.

        Where the system has no such locks, nothing is kept.

        Raises:
            ExperimentError: another process holds it.
        """
        if importlib.util.find_spec("fcntl") is None:
            yield
            return
        locks: Any = importlib.import_module("fcntl")
        handle = os.open(self.path, os.O_RDONLY)
        try:
            with suppress(OSError):  # a file system without locks
                try:
                    locks.flock(handle, locks.LOCK_EX | locks.LOCK_NB)
                except BlockingIOError:
                    raise ExperimentError(
                        f"another process is writing {self.path}: wait for it, or give another "
                        "folder"
                    ) from None
            yield
        finally:
            os.close(handle)

    def taken_up(self, at: int, key: str, condition: Condition) -> MeasuredCondition | None:
        """Return a condition that is there, whole, and made from what `key` stands for."""
        file = self._place(at) / _CONDITION
        try:
            if json.loads(file.read_text(encoding="utf-8"))["key"] != key:
                return None
            return self.read_condition(at, condition)
        except (OSError, KeyError, TypeError, ValueError, NousmemError):
            return None

    def write_condition(self, at: int, key: str, one: MeasuredCondition) -> None:
        """Write a condition: wholly, or not at all."""
        final = self._place(at)
        place = final.with_suffix(".part")
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        _write(place / "scorings.parquet", _scorings_table(one.measured))
        _write(place / "queries.parquet", _queries_table(one.measured))
        _write(place / "values.parquet", _values_table(one.measured))
        _write_text(place / _BEST, one.measured.best(self._experiment.tune).to_toml())
        facts = {
            "key": key,
            "corpus": dict(one.corpus),
            "embedder": one.embedder,
            "excluded": dict(one.excluded),
            "parameters": one.measured.parameters,
            "baseline": one.measured.baseline,
            "measures": [str(measure) for measure in one.measured.measures],
        }
        _write_text(place / _CONDITION, _json(facts))
        shutil.rmtree(final, ignore_errors=True)
        place.rename(final)

    def read_condition(self, at: int, condition: Condition) -> MeasuredCondition:
        """Read what `write_condition` wrote."""
        place = self._place(at)
        facts: dict[str, Any] = json.loads((place / _CONDITION).read_text(encoding="utf-8"))
        queries = _queries(_read(place / "queries.parquet"))
        scorings = _scorings(_read(place / "scorings.parquet"))
        stored = _read(place / "values.parquet")
        measures = parse_measures(facts["measures"])
        columns = [
            stored[str(measure)].to_numpy().reshape(len(scorings), len(queries))
            for measure in measures
        ]
        return MeasuredCondition(
            condition=condition,
            measured=MeasuredSettings(
                parameters=tuple(facts["parameters"]),
                settings=scorings,
                measures=tuple(measures),
                values=np.stack(columns, axis=1),
                queries=queries,
                baseline=facts["baseline"],
            ),
            corpus=facts["corpus"],
            excluded=facts["excluded"],
            embedder=facts["embedder"],
            seconds={},
        )

    def write_tables(self, result: ExperimentResult, *, manifest: Mapping[str, Any]) -> list[Path]:
        """Write the tables over all conditions, and the manifest; return the files."""
        tables = {
            "settings": result.frame,
            "by_category": result.by_category,
            "tuned": result.tuned,
            "comparison": result.comparison,
        }
        written: list[Path] = []
        for name, table in tables.items():
            written.append(self.path / f"{name}.parquet")
            table.to_parquet(written[-1], index=False)
            if name != "by_category":
                written.append(self.path / f"{name}.csv")
                table.to_csv(written[-1], index=False, lineterminator="\n")
        if len(result.conditions) == 1:
            written.append(self.path / _BEST)
            _write_text(written[-1], result.best().to_toml())
        written.append(self.path / _MANIFEST)
        _write_text(written[-1], _json(manifest))
        return written

    def _holds_measures(self) -> bool:
        return any((self.path / _CONDITIONS).glob(f"*/{_CONDITION}"))

    def _place(self, at: int) -> Path:
        return self.path / _CONDITIONS / f"{at:03d}"


def read_result(path: str | Path) -> ExperimentResult:
    """Read a finished result folder.

    Raises:
        ExperimentError: it is none, is damaged, or its experiment is not finished.
    """
    folder = Path(path)
    file = folder / _EXPERIMENT
    if not file.exists():
        raise ExperimentError(
            f"{folder} is no result folder: it has no {_EXPERIMENT}, as `nousmem sweep` writes it"
        )
    try:
        experiment = Experiment.from_document(json.loads(file.read_text(encoding="utf-8")))
        opened = ResultFolder(folder, experiment)
        missing = [
            at
            for at in range(len(experiment.conditions))
            if not (folder / _CONDITIONS / f"{at:03d}" / _CONDITION).exists()
        ]
        if missing:
            raise ExperimentError(
                f"{folder}: {len(missing)} of {len(experiment.conditions)} conditions are not "
                "measured yet: run the same sweep again to finish it"
            )
        return ExperimentResult(
            experiment,
            tuple(
                opened.read_condition(at, condition)
                for at, condition in enumerate(experiment.conditions)
            ),
        )
    except (OSError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, ExperimentError):
            raise
        raise ExperimentError(f"{folder} is damaged: {error}") from error


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, default=str) + "\n"


def _write_text(path: Path, text: str) -> None:
    """Write a file wholly, or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8", newline="\n")
    part.replace(path)


def _asked(file: Path) -> dict[str, Any]:
    try:
        asked: object = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        asked = None
    if not isinstance(asked, dict):
        raise ExperimentError(
            f"{file} is damaged, so what lies beside it cannot be taken up: remove {file.parent}, "
            "or give another folder"
        )
    return cast("dict[str, Any]", asked)


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the keys in which two experiments differ.

    Where a corpus lies is none: the path depends on where one stands, and its fingerprint is
    compared for each condition.
    """
    one, other = (_without_paths(document) for document in (before, now))
    return sorted(key for key in {**one, **other} if one.get(key) != other.get(key))


def _without_paths(document: Mapping[str, Any]) -> dict[str, Any]:
    kept = dict(document)
    conditions: object = kept.get("conditions")
    if isinstance(conditions, list):
        kept["conditions"] = [
            {**one, "corpus": {**one["corpus"], "path": _last_part(one["corpus"].get("path"))}}
            for one in cast("list[dict[str, Any]]", conditions)
        ]
    return kept


def _last_part(path: str | None) -> str | None:
    return None if path is None else Path(path).name


def _write(path: Path, table: pa.Table) -> None:
    parquet: Any = importlib.import_module("pyarrow.parquet")
    parquet.write_table(table, path, compression="zstd")


def _read(path: Path) -> pa.Table:
    parquet: Any = importlib.import_module("pyarrow.parquet")
    # One file, not a data set of many: `read_table` would look for partitions in the path.
    return parquet.ParquetFile(path).read()


def _scorings_table(measured: MeasuredSettings) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist([scoring.to_dict() for scoring in measured.settings])


def _scorings(table: pa.Table) -> tuple[Scoring, ...]:
    rows = table.to_pylist()
    return tuple(
        Scoring.from_dict({name: value for name, value in row.items() if value is not None})
        for row in rows
    )


def _queries_table(measured: MeasuredSettings) -> pa.Table:
    import pyarrow as pa

    rows = [
        {
            "query_id": query.query_id,
            "text": query.text,
            "category": query.category,
            "group": query.group,
            **{name: getattr(query.scope, name) for name in SCOPE_FIELDS},
        }
        for query in measured.queries
    ]
    text = pa.string()
    names = ("query_id", "text", "category", "group", *SCOPE_FIELDS)
    return pa.Table.from_pylist(rows, schema=pa.schema([(name, text) for name in names]))


def _queries(table: pa.Table) -> tuple[MeasuredQuery, ...]:
    rows = table.to_pylist()
    return tuple(
        MeasuredQuery(
            row["query_id"],
            row["text"],
            row["category"],
            row["group"],
            Scope(**{name: row[name] for name in SCOPE_FIELDS}),
        )
        for row in rows
    )


def _values_table(measured: MeasuredSettings) -> pa.Table:
    import pyarrow as pa

    n_settings, n_queries = len(measured.settings), len(measured.queries)
    places = np.tile(np.arange(n_queries, dtype=np.int32), n_settings)
    ids: Any = pa.array([query.query_id for query in measured.queries], pa.string())
    arrays: Any = pa.DictionaryArray
    columns: dict[str, Any] = {
        "setting": np.repeat(np.arange(n_settings, dtype=np.int32), n_queries),
        "query_id": arrays.from_arrays(places, ids),
    }
    for at, measure in enumerate(measured.measures):
        columns[str(measure)] = np.ascontiguousarray(measured.values[:, at]).ravel()
    return pa.table(columns)
