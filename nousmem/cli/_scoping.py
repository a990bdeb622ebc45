"""The options that say whose memories are meant, the same in every command that has them."""

from __future__ import annotations

from typing import Annotated

import typer

from nousmem.errors import InvalidScope
from nousmem.scope import Scope

__all__ = ["AgentId", "Namespace", "SessionId", "UserId", "chosen_scope"]

UserId = Annotated[str | None, typer.Option(help="Only this user's memories.")]
AgentId = Annotated[str | None, typer.Option(help="Only this agent's memories.")]
SessionId = Annotated[str | None, typer.Option(help="Only this session's memories.")]
Namespace = Annotated[str | None, typer.Option(help="Only this namespace.")]


def chosen_scope(
    *,
    user_id: str | None = None,
    agent_id: str | None = None,
    session_id: str | None = None,
    namespace: str | None = None,
) -> Scope:
    """Return the scope that the options of a command name.

    In Python "" is a value like any other; on a command line it is a variable that is not set,
    and would quietly find nobody's memories, or give everybody's to the user "".

    Raises:
        InvalidScope: an option is given without a value in it.
    """
    given = {
        "user_id": user_id,
        "agent_id": agent_id,
        "session_id": session_id,
        "namespace": namespace,
    }
    for name, value in given.items():
        if value is not None and not value.strip():
            option = "--" + name.replace("_", "-")
            raise InvalidScope(
                f"{option} is given without a value: is a variable of the shell not set? Leave "
                f"{option} out to mean any"
            )
    return Scope(**given)
