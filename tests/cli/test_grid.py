"""`--grid`: numbers, none, and the names of a choice."""

from __future__ import annotations

import pytest
import typer

from nousmem.cli.sweep import parse_grid


def test_a_grid_is_read_from_texts() -> None:
    assert parse_grid(
        ["decay_lambda=0,1e-3", "w_recency=none, 0.2", "decay_curve=exponential, power"]
    ) == {
        "decay_lambda": [0, 1e-3],
        "w_recency": [None, 0.2],
        "decay_curve": ["exponential", "power"],
    }


@pytest.mark.parametrize("text", ["rrf_k", "=1", "rrf_k=high"])
def test_a_grid_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        parse_grid([text])
    with pytest.raises(typer.BadParameter, match="once"):
        parse_grid(["rrf_k=1", "rrf_k=2"])
