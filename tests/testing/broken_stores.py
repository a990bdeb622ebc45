"""The suite on the reference store, and on every store with a fault.

Not collected by itself: test_store_conformance.py runs it and looks at what failed.
"""

import tomllib
from pathlib import Path

import broken_contents
import broken_filters
import broken_together
import broken_writes
from reference_store import ReferenceStore

from nousmem.testing import StoreConformance


class ReferenceSuite(StoreConformance):
    persistent = True
    shared = True
    store_class = ReferenceStore

    def open_store(self, place):
        return self.store_class(place)


class TestReferenceStore(ReferenceSuite):
    pass


FAULTS = tomllib.loads(Path(__file__).with_name("faults.toml").read_text(encoding="utf-8"))
EVERY_TEST = [name for name in dir(StoreConformance) if name.startswith("test_")]

for module in (broken_contents, broken_filters, broken_together, broken_writes):
    for fault, caught_by in FAULTS.items():
        if hasattr(module, fault):
            meant = {f"test_{test}" for test in caught_by}
            members = dict.fromkeys(name for name in EVERY_TEST if name not in meant)
            members |= {"store_class": getattr(module, fault)}
            globals()[f"Test{fault}"] = type(f"Test{fault}", (ReferenceSuite,), members)
