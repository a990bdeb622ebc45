"""Settings by name, as data: what is documented, and what our experiments support.

"recommended" changes three of the documented values. Each rests on an experiment of this
repository, whose results are committed.

- A half-life of a year, not of 29 days: `evals/decay-trade-off.toml`. It finds .558 of LoCoMo's
  evidence in the first ten, not .255 (without decay .618). On LongMemEval the newest of several
  dated answers comes first in .66 of the updates, not in .53 (without decay .37).
- No least composite score: `evals/injection.py`. With a half-life of a year and MiniLM, an answer
  is shown for .626 of the questions of the bundled corpus, not for .542; with text alone for .447,
  not for .160. The evidence of words or cosine is asked for all the same. The price is quiet:
  nothing is shown for .53 and .64 of the messages that need nothing, not for .56 and 1.00.
- No weight of recency, as in both experiments. The documented rule says the same while decay is on.

What they do not decide is left as documented: `rrf_k` 60 at 30 entries a leg, where 5 to 60 differ
by .01 in LoCoMo's R@10 (`evals/depth-and-k.toml`); and the weight of importance, which varies
in the bundled, made-up corpus alone. There .05 ranks better than .3.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

__all__ = ["PRESETS"]

PRESETS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "documented": {},
        "recommended": {
            "scoring": {"half_life_days": 365, "w_recency": 0},
            "injection": {"inject_min_score": 0.0},
        },
    }
)
