"""Which model answers in a session: a real one, or a stand-in that says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel

from nousmem.agent.sessions._session import Session, SessionTurn
from nousmem.agent.stand_ins import EXTRACTIVE, SCRIPTED, extractive_model, scripted_model
from nousmem.errors import InvalidParameter, SessionError

__all__ = ["SessionModel", "open_model", "open_session_model"]


@dataclass(frozen=True, slots=True)
class SessionModel:
    """The model of a session."""

    name: str
    stand_in: bool
    """No language model answers."""
    for_turn: Callable[[SessionTurn, Callable[[str], str]], Model]
    """Gives the model for a turn; the function it takes finds the id of a memory or fact."""


def open_session_model(model: Model | str, session: Session) -> SessionModel:
    """Return the model for a session.

    Args:
        model: "scripted", "extractive", a model of Pydantic AI or a name of one.
        session: Where a scripted model finds its script.

    Raises:
        SessionError: the model is scripted, and a turn has no script; all such turns are named.
        InvalidParameter: Pydantic AI cannot make the model: its name is unknown, or a key or a
            package is missing.
    """
    if model == SCRIPTED:
        without = [turn.id for turn in session.turns if not turn.script]
        if without:
            raise SessionError(
                f"{session.name}: the scripted model needs [[turns.model]] in every turn; "
                f"there is none in {', '.join(without)}"
            )
        return SessionModel(SCRIPTED, stand_in=True, for_turn=_scripted(session))
    if model == EXTRACTIVE:
        extractive = extractive_model()
        return SessionModel(EXTRACTIVE, stand_in=True, for_turn=lambda _, __: extractive)
    instead = f"Without a key, {EXTRACTIVE!r} and {SCRIPTED!r} stand in for one"
    opened = open_model(model, role="model", instead=instead)
    stand_in = isinstance(opened, FunctionModel | TestModel)
    return SessionModel(
        f"{opened.system}:{opened.model_name}", stand_in=stand_in, for_turn=lambda _, __: opened
    )


def open_model(model: Model | str, *, role: str, instead: str) -> Model:
    """Return a model of Pydantic AI.

    Args:
        model: The model, or its name.
        role: What a message calls it.
        instead: What can be done without it, as a sentence.

    Raises:
        InvalidParameter: it cannot be made.
    """
    try:
        return infer_model(model)
    except Exception as error:  # each provider raises its own
        raise InvalidParameter(
            f"the {role} {model!r} cannot be used: {str(error).rstrip('.')}. {instead}"
        ) from error


def _scripted(session: Session) -> Callable[[SessionTurn, Callable[[str], str]], Model]:
    def for_turn(turn: SessionTurn, find: Callable[[str], str]) -> Model:
        return scripted_model(
            turn.script,
            operations=turn.operations,
            find=find,
            place=f"{session.name}, turn {turn.id}",
        )

    return for_turn
