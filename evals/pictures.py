"""Draw the trade-off pictures of this folder from its committed results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nousmem.viz import plots

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def conversations() -> pd.DataFrame:
    """Return a half-life and curve a row, by ranks: LoCoMo's recall, LongMemEval's freshness."""
    table = pd.read_csv(RESULTS / "decay-trade-off.csv")
    table = table[table["fusion"] == "rrf"]
    keys = ["decay_curve", "half_life_days"]
    both = (table[table["corpus"] == name].set_index(keys) for name in ("locomo", "longmemeval"))
    locomo, longmemeval = (part[~part.index.duplicated()] for part in both)
    return pd.DataFrame(
        {"R@10, LoCoMo": locomo["R@10"], "Fresh@1, LongMemEval": longmemeval["Fresh@1"]}
    ).reset_index()


def assistant_year() -> pd.DataFrame:
    """Return a half-life, curve and fusion a row, with the fusion that recalls more."""
    table = pd.read_csv(RESULTS / "decay-trade-off-assistant-year.csv")
    convex = table[(table["fusion"] == "convex") & ~table["is_baseline"]]
    return convex.reset_index(drop=True)


def main() -> None:
    """Write the two pictures beside this file."""
    axes = plots.trade_off(
        conversations(), x="R@10, LoCoMo", y="Fresh@1, LongMemEval", by="decay_curve"
    )
    plots.save(axes, HERE / "trade-off-conversations.svg")
    axes = plots.trade_off(assistant_year(), x="R@10", y="Fresh@1", by="decay_curve")
    plots.save(axes, HERE / "trade-off-assistant-year.svg")


if __name__ == "__main__":
    main()
