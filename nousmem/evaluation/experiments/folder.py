"""The folder an experiment's result lies in.

    experiment.json           what was asked, and the keys of the conditions
    settings.parquet          ExperimentResult.frame; also as .csv
    by_category.parquet       ExperimentResult.by_category
    tuned.parquet             ExperimentResult.tuned; also as .csv
    comparison.parquet        ExperimentResult.comparison; also as .csv
    conditions/000/           one condition; complete or not there
      settings.parquet        one setting a row: the parameters varied as a table shows them, and
                              `settings`, all of it as JSON (`Settings.to_dict`)
      queries.parquet         one measured query a row: query_id, text, category, group, and scope
      values.parquet          one setting and query a row: setting, query_id, one column a measure
      condition.json          key (what it was made from), corpus, embedder, excluded, and what
                              somebody's own legs, terms and functions are called
      best.toml               the best setting, as `Settings.to_toml` writes it
    best.toml                 that of the winner (`ExperimentResult.winner`)
    manifest.json             the winner; versions, commit, seconds: what varies from run to run

Equal experiments on equal data write equal bytes, but for the manifest. A folder can be read where
somebody's own code is not (`MissingCode`).
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast

from nousmem.errors import ExperimentError, NousmemError
from nousmem.evaluation.experiments._parts import PartLoader, described_parts
from nousmem.evaluation.experiments._tables import (
    read_queries,
    read_settings,
    read_values,
    write_measured,
)
from nousmem.evaluation.experiments.conditions import Condition, MeasuredCondition
from nousmem.evaluation.experiments.experiment import Experiment
from nousmem.evaluation.experiments.results import ExperimentResult
from nousmem.evaluation.measured import MeasuredSettings
from nousmem.evaluation.measures import Measure

__all__ = ["ResultFolder", "read_result", "write_text"]

_EXPERIMENT: Final = "experiment.json"
_MANIFEST: Final = "manifest.json"
_BEST: Final = "best.toml"
_CONDITION: Final = "condition.json"
_CONDITIONS: Final = "conditions"
_KEYS: Final = "keys"


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
        file, document = self.path / _EXPERIMENT, self._document()
        if self.path.exists() and any(self.path.iterdir()):
            if not file.exists():
                raise ExperimentError(f"{self.path} holds no result: give an empty folder")
            before = _asked(file)
            changed = _changed(before, document)
            if changed and not self._holds_measures():
                with self.held():
                    self.begin_anew()
                return
            if changed:
                raise ExperimentError(
                    f"{self.path} holds the result of another experiment (it differs in "
                    f"{', '.join(changed)}): give another folder, or remove it"
                )
            if _without_paths({**before, _KEYS: None}) == _without_paths({**document, _KEYS: None}):
                document = {**document, _KEYS: before.get(_KEYS)}
        self.path.mkdir(parents=True, exist_ok=True)
        write_text(file, _json(document))

    def begin_anew(self) -> None:
        """Say what is asked, in place of a result that is there; other files stay."""
        shutil.rmtree(self.path / _CONDITIONS, ignore_errors=True)
        self.path.mkdir(parents=True, exist_ok=True)
        write_text(self.path / _EXPERIMENT, _json(self._document()))

    def expect(self, keys: Sequence[str]) -> None:
        """Say what each condition must have been made from: what has another key is not read."""
        write_text(self.path / _EXPERIMENT, _json({**self._document(), _KEYS: list(keys)}))

    def _document(self) -> dict[str, Any]:
        return json.loads(_json(self._experiment.to_document()))

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
        try:
            return self.taken_up_as(at, key, condition)
        except (OSError, LookupError, TypeError, ValueError, NousmemError):
            return None

    def taken_up_as(
        self, at: int, key: str | None, condition: Condition
    ) -> MeasuredCondition | None:
        """Return a condition that is there with this key; None where it is not there.

        Raises:
            OSError, KeyError, TypeError, ValueError, NousmemError: it is damaged.
        """
        file = self._place(at) / _CONDITION
        if not file.exists() or json.loads(file.read_text(encoding="utf-8"))["key"] != key:
            return None
        return self.read_condition(at, condition)

    def write_condition(self, at: int, key: str, one: MeasuredCondition) -> None:
        """Write a condition: wholly, or not at all."""
        final = self._place(at)
        place = final.with_suffix(".part")
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        write_measured(place, one.measured)
        write_text(place / _BEST, one.measured.best(self._experiment.tune).to_toml())
        facts = {
            "key": key,
            "corpus": dict(one.corpus),
            "embedder": one.embedder,
            "excluded": dict(one.excluded),
            "parameters": one.measured.parameters,
            "baseline": one.measured.baseline,
            "n_tried": one.measured.n_tried,
            "parts": described_parts(one.measured.settings),
            "measures": [measure.to_document() for measure in one.measured.measures],
        }
        write_text(place / _CONDITION, _json(facts))
        shutil.rmtree(final, ignore_errors=True)
        place.rename(final)

    def read_condition(self, at: int, condition: Condition) -> MeasuredCondition:
        """Read what `write_condition` wrote."""
        place = self._place(at)
        facts: dict[str, Any] = json.loads((place / _CONDITION).read_text(encoding="utf-8"))
        queries = read_queries(place)
        settings = read_settings(place, PartLoader(facts["parts"]))
        measures = [Measure.from_document(one) for one in facts["measures"]]
        values = read_values(place, measures, n_settings=len(settings), n_queries=len(queries))
        return MeasuredCondition(
            condition=condition,
            measured=MeasuredSettings(
                parameters=tuple(facts["parameters"]),
                settings=settings,
                measures=tuple(measures),
                values=values,
                queries=queries,
                baseline=facts["baseline"],
                n_tried=facts["n_tried"],
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
        winner = result.winner
        if winner is None:
            (self.path / _BEST).unlink(missing_ok=True)
        else:
            written.append(self.path / _BEST)
            write_text(written[-1], result.best().to_toml())
        written.append(self.path / _MANIFEST)
        named = {"winner": None if winner is None else result.names[winner]}
        write_text(written[-1], _json({**named, **manifest}))
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
        document = json.loads(file.read_text(encoding="utf-8"))
        experiment = Experiment.from_document(document)
        opened = ResultFolder(folder, experiment)
        found = [
            opened.taken_up_as(at, key, condition)
            for at, (condition, key) in enumerate(
                zip(experiment.conditions, _keys(document), strict=True)
            )
        ]
        measured = [one for one in found if one is not None]
        if len(measured) < len(found):
            raise ExperimentError(
                f"{folder}: {len(found) - len(measured)} of {len(found)} conditions are not "
                "measured yet: run the same sweep again to finish it"
            )
        return ExperimentResult(experiment, tuple(measured))
    except (OSError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, ExperimentError):
            raise
        raise ExperimentError(f"{folder} is damaged: {error}") from error


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, default=str) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write a file wholly, or not at all."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


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


def _keys(document: Mapping[str, Any]) -> list[str | None]:
    """Return what the conditions must have been made from; None for each where it is not said."""
    return document.get(_KEYS) or [None] * len(document["conditions"])


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the keys in which two experiments differ.

    Where a corpus lies is none: the path depends on where one stands, and its fingerprint is
    compared for each condition. So is that of a measure's code.
    """
    one, other = (
        _without_code(_without_paths({**document, _KEYS: None})) for document in (before, now)
    )
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


def _without_code(document: Mapping[str, Any]) -> dict[str, Any]:
    kept = dict(document)
    measures: object = kept.get("measures")
    if isinstance(measures, list):
        kept["measures"] = [
            {**one, "code": ""} if isinstance(one, dict) else one
            for one in cast("list[Any]", measures)
        ]
    return kept


def _last_part(path: str | None) -> str | None:
    return None if path is None else Path(path).name
