"""Readers of one's own, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import nousmem as nm
from nousmem.errors import CorpusError, InvalidParameter, UnknownName
from nousmem.importers import read_memories

OWN = """
from pathlib import Path
from nousmem import Entry
from nousmem.errors import CorpusError

def read_notes(file, *, shout=False):
    for line in Path(file).read_text().splitlines():
        if not line:
            raise CorpusError(f"{file}: an empty line")
        yield Entry(line.upper() if shout else line)

def read_lines(file):
    return Path(file).read_text().splitlines()

def count(file):
    return 3

class Reader:
    def __call__(self, data):
        return [Entry(text) for text in data]

READER = Reader()
number = 3
"""


@pytest.fixture
def notes(tmp_path: Path, own_code: Callable[..., Path]) -> Path:
    own_code(mine=OWN)
    file = tmp_path / "notes.txt"
    file.write_text("Mira drinks tea\nMira sings\n")
    return file


def test_a_reader_of_ones_own(notes: Path) -> None:
    read = read_memories(notes, source="mine:read_notes")
    assert [entry.content for entry in read] == ["Mira drinks tea", "Mira sings"]
    assert all(isinstance(entry, nm.Entry) for entry in read)
    loud = read_memories(notes, source="mine:read_notes", shout=True)
    assert [entry.content for entry in loud] == ["MIRA DRINKS TEA", "MIRA SINGS"]
    assert [one.content for one in read_memories(["tea"], source="mine:READER")] == ["tea"]


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("mine:read_notes", {"scope": 1}, "source 'mine:read_notes' cannot be called so: .*scope"),
        ("mine:read_lines", {}, "'mine:read_lines' returned 'Mira drinks tea' among its entries"),
        ("mine:count", {}, "source 'mine:count' returned 3: expected entries"),
        ("mine:number", {}, "source 'mine:number' is 3: expected a function that returns entries"),
        ("mine:absent", {}, "source 'mine:absent': module 'mine' has no 'absent'"),
        ("absent_one:x", {}, "source 'absent_one:x': there is no module 'absent_one' on"),
    ],
)
def test_what_is_no_reader_of_ones_own(
    notes: Path, source: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidParameter, match=message):
        read_memories(notes, source=source, **options)


def test_what_goes_wrong_while_it_reads_names_it(notes: Path) -> None:
    with pytest.raises(InvalidParameter, match="'mine:read_notes' failed: FileNotFoundError"):
        read_memories(notes.with_name("absent.txt"), source="mine:read_notes")
    notes.write_text("tea\n\n")
    with pytest.raises(CorpusError, match=r"notes\.txt: an empty line"):
        read_memories(notes, source="mine:read_notes")
    with pytest.raises(UnknownName, match=r"Known: .*mem0, package\.module:object"):
        read_memories(notes, source="memo0")
    with pytest.raises(UnknownName, match="unknown source 'memo0'; did you mean 'mem0'"):
        read_memories(notes, source="memo0:read")
