"""`--grid`: numbers, none, the names of a choice, and lists of legs and terms."""

from __future__ import annotations

import pytest
import typer

from nousmem.cli._sweep import parse_grid


def test_a_grid_is_read_from_texts() -> None:
    assert parse_grid(
        ["decay_lambda=0,1e-3", "w_recency=none, 0.2", "decay_curve=exponential, power"]
    ) == {
        "decay_lambda": [0, 1e-3],
        "w_recency": [None, 0.2],
        "decay_curve": ["exponential", "power"],
    }


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("legs=text;text,vector;all", [("text",), ("text", "vector"), None]),
        ("legs=text,vector", [("text", "vector")]),
        ("legs=text,text+mine:Leg", [("text",), ("text", "mine:Leg")]),
        ("depth=10,30", [10, 30]),
        ("depth=10;none", [10, None]),
        (
            "terms=none;mine:often;mine:often,mine:long",
            [(), ("mine:often",), ("mine:often", "mine:long")],
        ),
        ("fusion=rrf,mine:fused", ["rrf", "mine:fused"]),
        ("w_often=0,0.5", [0, 0.5]),
    ],
)
def test_how_candidates_are_found_is_varied_too(text: str, values: list) -> None:
    (read,) = parse_grid([text]).values()
    assert read == values


@pytest.mark.parametrize("text", ["rrf_k", "=1", "rrf_k=high"])
def test_a_grid_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        parse_grid([text])
    with pytest.raises(typer.BadParameter, match="once"):
        parse_grid(["rrf_k=1", "rrf_k=2"])
