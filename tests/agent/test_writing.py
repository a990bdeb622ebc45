"""What becomes of two memories that say the same."""

from __future__ import annotations

import pytest

import nousmem as nm
from nousmem.agent import MemoryAccess
from nousmem.agent._writing import add, remove


@pytest.mark.parametrize(("first", "second"), [(True, False), (False, True)])
def test_what_was_once_evergreen_stays_so(access: MemoryAccess, first: bool, second: bool) -> None:
    add(access, "Keeps bees", evergreen=first)
    done = add(access, "keeps  bees", evergreen=second)
    assert done.did == "merged"
    assert done.entry.evergreen


def test_forgetting_takes_no_history_of_somebody_elses(access: MemoryAccess) -> None:
    """Whoever wrote that it was replaced by this memory: it is not the agent's to erase."""
    store = access.opened_store
    kept = add(access, "Keeps bees").entry
    own = nm.Entry("Keeps hens", agent_id="assistant", user_id="alice", created_at=access.now())
    theirs = own.replace(id="theirs", user_id="bob")
    store.put(
        one.replace(superseded_at=access.now(), superseded_by=kept.id) for one in (own, theirs)
    )
    remove(access, kept.id)
    left = store.list(include_superseded=True)
    assert [entry.id for entry in left] == ["theirs"]
