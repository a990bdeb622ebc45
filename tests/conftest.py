"""Settings that every test shares."""

from __future__ import annotations

from hypothesis import settings

# A busy machine is not a slow property.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
