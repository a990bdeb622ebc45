"""Draw the pictures of this folder from its committed results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
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


def freshness() -> Any:
    """Return the Axes of what each family of settings gains in freshness, and what it costs."""
    table = pd.read_csv(RESULTS / "freshness.csv")
    _, panels = plt.subplots(
        1, 3, sharey=True, figsize=(10.4, 1.3 + 0.27 * len(table)), layout="constrained"
    )
    plots.estimates(
        table,
        "newest_first",
        name="family",
        title="Newest evidence first",
        label="share of updated facts, LongMemEval",
        goal=0.7,
        ax=panels[0],
    )
    plots.estimates(
        table,
        "locomo_R@10_change",
        name="family",
        title="R@10, LoCoMo",
        label="change against no decay",
        goal=-0.01,
        signed=True,
        ax=panels[1],
    )
    plots.estimates(
        table,
        "locomo_nDCG@10_change",
        name="family",
        title="nDCG@10, LoCoMo",
        label="change against no decay",
        signed=True,
        ax=panels[2],
    )
    return panels[0]


def main() -> None:
    """Write the pictures beside this file."""
    axes = plots.trade_off(
        conversations(), x="R@10, LoCoMo", y="Fresh@1, LongMemEval", by="decay_curve"
    )
    plots.save(axes, HERE / "trade-off-conversations.svg")
    axes = plots.trade_off(assistant_year(), x="R@10", y="Fresh@1", by="decay_curve")
    plots.save(axes, HERE / "trade-off-assistant-year.svg")
    plots.save(freshness(), HERE / "freshness.svg")


if __name__ == "__main__":
    main()
