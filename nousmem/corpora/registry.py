"""Corpora by name: what there is, where it is, and how to load it."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from nousmem.corpora import _beam as beam
from nousmem.corpora import _locomo as locomo
from nousmem.corpora import _longmemeval as longmemeval
from nousmem.corpora import _trec as trec
from nousmem.corpora._corpus import Corpus
from nousmem.corpora.files import (
    DATA_VARIABLE,
    DataFile,
    PathLike,
    cache_folder,
    present_path,
    published_file,
)
from nousmem.corpora.reading import stream_json_array
from nousmem.corpora.tables import TABLE_SUFFIXES, not_a_folder
from nousmem.errors import CorpusError, CorpusFileMissing, InvalidParameter, UnknownName
from nousmem.references import REFERENCE_FORM, is_reference, load_made

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["is_corpus", "is_own_corpus", "list_corpora", "load_corpus", "recognise_corpus"]


@dataclass(frozen=True, slots=True)
class _Source:
    """One name that `load_corpus` knows."""

    name: str
    title: str
    licence: str
    loader: str
    """`module:function`; the function takes `path` (unless bundled) and keyword options."""
    files: Sequence[DataFile] = ()
    """Any one of these is enough. Empty: bundled with the library."""
    needs_path: bool = False
    """Whether nothing can be loaded without a path."""

    @property
    def bundled(self) -> bool:
        return not self.files and not self.needs_path

    def load(self) -> Callable[..., Corpus]:
        module, _, function = self.loader.partition(":")
        return cast("Callable[..., Corpus]", getattr(importlib.import_module(module), function))


_SOURCES: Final = {
    source.name: source
    for source in (
        _Source(
            "assistant-year",
            "A year with an assistant (synthetic, judged)",
            "MIT",
            "nousmem.corpora.assistant_year:load_bundled",
        ),
        _Source(
            "locomo",
            "LoCoMo: ten long conversations, 1,986 questions",
            "CC BY-NC 4.0",
            "nousmem.corpora._locomo:load_locomo",
            (locomo.LOCOMO,),
        ),
        _Source(
            "longmemeval",
            "LongMemEval: 500 questions about a user's chat history",
            "MIT",
            "nousmem.corpora._longmemeval:load_longmemeval",
            (*longmemeval.HAYSTACKS, *longmemeval.POOLS),
        ),
        _Source(
            "beam",
            "BEAM: 20 chats of 100,000 tokens, 400 probing questions",
            "none stated",
            "nousmem.corpora._beam:load_beam",
            beam.BEAM,
        ),
        _Source(
            "beir",
            "Any data set in BEIR's layout",
            "the data set's",
            "nousmem.corpora._beir:load_beir",
            needs_path=True,
        ),
        _Source(
            "trec",
            "TREC files; without a path, the Cranfield collection",
            "the collection's; Cranfield: none stated",
            "nousmem.corpora._trec:load_trec",
            (trec.CRANFIELD,),
        ),
        _Source(
            "tables",
            "Your own tables: entries.*, queries.*, qrels.*",
            "yours",
            "nousmem.corpora.frames:load_tables",
            needs_path=True,
        ),
    )
}


def load_corpus(name: str, *, path: PathLike | None = None, **options: Any) -> Corpus:
    """Load a corpus by name.

    The names: "assistant-year" (bundled), "locomo", "longmemeval", "beam", "beir", "trec", and
    "tables" for your own. Their options are those of the loaders: `load_locomo`,
    `load_longmemeval`, `load_beam`, `load_beir`, `load_trec`, `load_tables`. `list_corpora` says
    which are on this disk.

    `package.module:object` names a corpus of your own: a Corpus, or a function that takes the
    options, `path` among them where it is given, and returns one. It is imported from Python's
    search path, and so run.

    Args:
        name: One of the names above.
        path: The corpus file or its folder. Default: the folder named by the environment
            variable NOUSMEM_DATA, then the user's cache, then a download that is checked
            against the published sha256.
        options: The loader's keyword arguments, such as `granularity="session"`.

    Raises:
        UnknownName: no corpus has this name.
        InvalidParameter: the loader has no such option, or refuses its value; a path is given for
            a bundled corpus; one of your own cannot be imported or made, or is no corpus.
        CorpusFileMissing: the files are not on this disk and cannot be downloaded.
        CorpusError: a file is damaged, or what was downloaded is not the published one.
        InvalidEntry: the option `now` of "tables" is not an instant.
    """
    if is_own_corpus(name):
        return load_made(
            name,
            what="corpus",
            expected="a Corpus",
            fits=lambda found: isinstance(found, Corpus),
            options=options if path is None else {"path": path, **options},
        )
    source = _SOURCES.get(name)
    if source is None:
        raise UnknownName("corpus", name, (*_SOURCES, REFERENCE_FORM))
    loader = source.load()
    known = [key for key in inspect.signature(loader).parameters if key != "path"]
    for key in options:
        if key not in known:
            valid = ", ".join(known) if known else "none"
            raise InvalidParameter(f"corpus {name!r} has no option {key!r}; its options: {valid}")
    if source.bundled:
        if path is not None:
            raise InvalidParameter(f"corpus {name!r} is bundled: it is loaded without path=")
        return loader(**options)
    return loader(path, **options)


def is_corpus(name: str) -> bool:
    """Whether `load_corpus` knows the name, or takes it for that of somebody's own corpus."""
    return name in _SOURCES or is_own_corpus(name)


def is_own_corpus(name: str) -> bool:
    """Whether a name for `load_corpus` is that of somebody's own code."""
    return is_reference(name)


def list_corpora() -> pd.DataFrame:
    """Return the corpora that `load_corpus` knows, one a row.

    Columns: name, title, licence (str); on_this_disk (bool: loads without network); place (str:
    where it lies, or where it would be looked for); how_to_get (str: what to do when it is not
    there; "" when it is).
    """
    import pandas as pd

    return pd.DataFrame([_row(source) for source in _SOURCES.values()])


def recognise_corpus(path: PathLike) -> str:
    """Return the name under which `load_corpus` reads what lies at `path`.

    Raises:
        CorpusFileMissing: nothing lies there.
        CorpusError: it is in no format that a loader reads.
    """
    place = Path(path).expanduser()
    if not place.exists():
        raise CorpusFileMissing(f"there is no file or folder at {place}")
    if place.is_dir():
        for name, signs in _FOLDER_SIGNS.items():
            if any(next(place.glob(sign), None) for sign in signs):
                return name
    elif place.suffix == ".json":
        first = next(stream_json_array(place), None)
        for name, fields in _FILE_SIGNS.items():
            if first is not None and any(first.get(key) for key in fields):
                return name
    elif place.suffix.lower() in _TABLES_ALONE:
        raise CorpusError(not_a_folder(place))
    raise CorpusError(
        f"{place}: in no known format; expected a file of locomo, longmemeval or beam, or a folder "
        "of beir (corpus.jsonl), trec (documents, topics, qrels) or tables (entries.csv, qrels.csv)"
    )


_TABLES_ALONE: Final = (".csv", ".tsv")
_FILE_SIGNS: Final = {
    "locomo": ("conversation",),
    "longmemeval": ("haystack_sessions", "answer_session_ids"),
    "beam": ("batches",),
}
_FOLDER_SIGNS: Final = {
    "beir": ("corpus.jsonl",),
    "tables": tuple(f"entries{suffix}" for suffix in TABLE_SUFFIXES),
    "locomo": (locomo.LOCOMO.name,),
    "longmemeval": tuple(file.name for file in (*longmemeval.HAYSTACKS, *longmemeval.POOLS)),
    "beam": ("chat.json", "*/chat.json", "beam_100k.json"),
    "trec": ("cran.all.1400", "qrels*", "qrel*"),
}


def _row(source: _Source) -> dict[str, Any]:
    found = next((path for file in source.files if (path := present_path(file))), None)
    row = {
        "name": source.name,
        "title": source.title,
        "licence": source.licence,
        "on_this_disk": source.bundled or found is not None,
        "place": "bundled" if source.bundled else str(found or ""),
        "how_to_get": "",
    }
    if source.needs_path:
        row["how_to_get"] = "give its folder as path="
    elif not row["on_this_disk"]:
        wanted = published_file(source.files)
        row["place"] = str(cache_folder() / wanted.path)
        row["how_to_get"] = (
            f"downloaded when first loaded, from {wanted.source}"
            if wanted.url
            else f"get {wanted.name} from {wanted.source}; put it at `place`, "
            f"or name its folder in {DATA_VARIABLE}"
        )
    return row
