"""Settings that every test shares."""

from __future__ import annotations

import os

from hypothesis import settings

# A busy machine is not a slow property. HYPOTHESIS_PROFILE=thorough looks harder.
settings.register_profile("quick", deadline=None, max_examples=40)
settings.register_profile("thorough", deadline=None, max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
