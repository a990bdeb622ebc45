"""An independent audit's corrections of LoCoMo's ground truth (dial481/locomo-audit)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nousmem.corpora.files import DataFile, PathLike, find_file
from nousmem.corpora.reading import Node, read_json

__all__ = ["AUDIT", "Correction", "load_corrections"]

AUDIT: Final = DataFile(
    "locomo_audit_errors.json",
    source="github.com/dial481/locomo-audit (errors.json, CC BY-NC 4.0)",
    sha256="f298ef46263fada20688a1d672be37d4f488c6da3b19343eea55ae5c1b5fe55e",
)

_QUESTION_ID: Final = re.compile(r"locomo_(\d+)_qa(\d+)")


@dataclass(frozen=True, slots=True)
class Correction:
    """What the audit says of one question."""

    question: str
    error_type: str
    """WRONG_CITATION, HALLUCINATION, TEMPORAL_ERROR, ATTRIBUTION_ERROR, AMBIGUOUS, INCOMPLETE."""
    evidence: tuple[Node, ...]
    """Ids of the turns that do support the answer, as the file has them; empty: none does."""
    answer: str

    def check(self, node: Node, question: str) -> None:
        """Raise CorpusError unless the correction is about this question."""
        if question != self.question:
            raise node.error(
                f"the audit corrects {self.question!r} here, but the question is {question!r}: "
                "the corrections belong to another version of the file"
            )


def load_corrections(
    source: PathLike | bool | None,  # noqa: FBT001  (a switch or a place, as documented)
    *,
    beside: Path,
) -> Mapping[int, Mapping[int, Correction]]:
    """Return the corrections by index of the conversation, then index of the question.

    Args:
        source: A path; True to look for the file next to `beside`, then as for a corpus; None or
            False for none.
        beside: The corpus file.

    Raises:
        CorpusFileMissing: the file is not there.
        CorpusError: the file is damaged or in another format.
    """
    if source is None or source is False:
        return {}
    neighbour = beside.with_name(AUDIT.name)
    if source is not True:
        path = find_file("locomo", [AUDIT], path=source)
    elif neighbour.is_file():
        path = neighbour
    else:
        path = find_file("locomo", [AUDIT])
    corrections: dict[int, dict[int, Correction]] = {}
    for node in read_json(path).items():
        identifier = node["question_id"]
        match = _QUESTION_ID.fullmatch(identifier.text())
        if match is None:
            raise identifier.error(f"expected 'locomo_<i>_qa<j>', got {identifier.value!r}")
        corrections.setdefault(int(match[1]), {})[int(match[2])] = Correction(
            question=node["question"].text(),
            error_type=node["error_type"].text(),
            evidence=tuple(node["correct_evidence"].items()),
            answer=node["correct_answer"].text(),
        )
    return corrections
