from __future__ import annotations

import nousmem as nm
from nousmem.agent.sessions._changes import store_changes

from .conftest import NOON


def test_each_kind_of_change():
    before = [
        nm.Entry(f"memory {name}", id=name, created_at=NOON)
        for name in ("same", "read", "changed", "replaced", "gone")
    ]
    same, read, changed, replaced, _ = before
    after = [
        same,
        read.replace(access_count=1, updated_at=NOON),
        changed.replace(importance=0.9, access_count=2),
        replaced.replace(superseded_at=NOON, superseded_by="new"),
        nm.Entry("memory new", id="new", created_at=NOON),
    ]
    found = store_changes(before, after)
    assert [(one.change, one.id) for one in found] == [
        ("touched", "read"),
        ("changed", "changed"),
        ("superseded", "replaced"),
        ("added", "new"),
        ("deleted", "gone"),
    ]
    assert found[1].fields == {"importance": (0.5, 0.9), "access_count": (0, 2)}
    assert found[2].fields["superseded_at"] == (None, NOON.isoformat())
    assert store_changes(after, after) == []
