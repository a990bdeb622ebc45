"""Session files: TOML, checked as a whole, with all that is wrong said at once."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final, cast

from nousmem.agent._access import SEARCH_SCOPES
from nousmem.agent.sessions._places import Faults, Place
from nousmem.agent.sessions._session import (
    Fact,
    Session,
    SessionAgent,
    SessionTurn,
    SessionUser,
)
from nousmem.agent.stand_ins.scripts import ScriptStep, ToolUse
from nousmem.entry import Entry
from nousmem.errors import NousmemError, SessionError, suggestion

__all__ = ["parse_session", "read_session", "read_sessions"]

# Transcripts and pages are named after it.
_FILE_NAME: Final = re.compile(r"\w[\w .-]*")

TOOLS: Final = {
    "remember": ("content", "type", "importance", "evergreen", "metadata"),
    "recall": ("query", "type", "limit"),
    "forget": ("id",),
}
"""The arguments of each tool; the first one it needs."""
OPERATIONS: Final = {"remember": "content", "update": "id", "forget": "id"}
"""What a reflection may do, and the key each needs."""
OPERATION_KEYS: Final = ("action", "id", "content", "type", "importance")

_TURN_KEYS: Final = (
    "id",
    "at",
    "user",
    "agent",
    "text",
    "conversation",
    "expects",
    "forbids",
    "answer",
    "model",
    "operations",
)
_MEMORY_KEYS: Final = (
    "id",
    "content",
    "type",
    "importance",
    "evergreen",
    "metadata",
    "user",
    "agent",
    "conversation",
    "namespace",
    "created_at",
    "last_accessed_at",
    "access_count",
)


def read_sessions(target: str | Path) -> list[Session]:
    """Read a session file, or every `*.toml` of a folder, by name.

    Raises:
        SessionError: there is none, or one has faults; all of them are named.
    """
    path = Path(target)
    files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    if not files:
        raise SessionError(f"{path}: no session file (*.toml) in this folder")
    sessions: list[Session] = []
    faults: list[str] = []
    for file in files:
        try:
            sessions.append(read_session(file))
        except SessionError as error:
            faults.append(str(error))
    if faults:
        raise SessionError("\n".join(faults))
    names = [session.name for session in sessions]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise SessionError(f"{path}: several sessions are named {', '.join(twice)}; rename one")
    return sessions


def read_session(path: str | Path) -> Session:
    """Read a session file.

    Raises:
        SessionError: it cannot be read, is not TOML, or is not a session; every fault is named
            with the file and its place.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SessionError(f"{file}: cannot be read: {reason}") from error
    return parse_session(text, source=str(file), name=file.stem)


def parse_session(text: str, *, source: str = "session", name: str = "session") -> Session:
    """Read a session from TOML text.

    Args:
        text: The TOML.
        source: What messages call it.
        name: Its name, where the text gives none.

    Raises:
        SessionError: as for `read_session`.
    """
    text = text.removeprefix("\ufeff")
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SessionError(f"{source}: not TOML: {error}") from None
    faults = Faults(source, text)
    session = _session(table, faults, name=name)
    faults.raise_if_any()
    return dataclasses.replace(session, sha256=hashlib.sha256(text.encode()).hexdigest())


def _session(table: Mapping[str, Any], faults: Faults, *, name: str) -> Session:
    top = Place(table, faults)
    top.known_keys(
        ("name", "about", "agents", "users", "memories", "facts", "turns", "memory"),
    )
    agents = {one.id: one for one in map(_agent, top.tables("agents"))}
    users = {one.id: one for one in map(_user, top.tables("users"))}
    _check_ids(top, "agents")
    _check_ids(top, "users")
    memories: dict[str, Entry] = {}
    for place in top.tables("memories"):
        entry = _memory(place, agents, users)
        if entry is not None and entry.id in memories:
            place.fault(f"the id {entry.id!r} is taken by another memory")
        elif entry is not None:
            memories[entry.id] = entry
    facts = _facts(top, memories)
    names = [*memories, *facts]
    # A memory that has a fault of its own is still one that may be named.
    names += [str(place.table.get("id")) for place in top.tables("memories")]
    turns = _turns(top, agents, users, memories, names)
    own_name = top.text("name", default=name, blank=False)
    if own_name and not _FILE_NAME.fullmatch(own_name):
        faults.add(f"name must be letters, digits, spaces, dots and dashes, got {own_name!r}")
    return Session(
        name=own_name,
        about=top.text("about", default=""),
        agents=agents,
        users=users,
        memories=memories,
        facts=facts,
        turns=turns,
        options=_options(top),
    )


def _check_ids(top: Place, key: str) -> None:
    places = top.tables(key)
    given = [str(place.table.get("id")) for place in places]
    for at, place in enumerate(places):
        if given[at] in given[:at]:
            place.fault(f"the id {given[at]!r} is taken by another of the {key}")
    if not places:
        top.faults.add(f"at least one [[{key}]] with an id is needed")


def _turns(
    top: Place,
    agents: Mapping[str, SessionAgent],
    users: Collection[str],
    memories: Mapping[str, Entry],
    names: Collection[str],
) -> tuple[SessionTurn, ...]:
    turns: list[SessionTurn] = []
    for number, place in enumerate(top.tables("turns"), 1):
        turn = _turn(place, number, agents, users, names)
        if turn is None:
            continue
        if turns and turn.at < turns[-1].at:
            place.fault(f"at {turn.at:%Y-%m-%d %H:%M} is before the turn above it")
        if any(turn.id == other.id for other in turns):
            place.fault(f"the id {turn.id!r} is taken by another turn")
        for wanted in turn.expects:
            made = memories[wanted].created_at if wanted in memories else turn.at
            if made > turn.at:
                place.fault(
                    f"expects: {wanted!r} is not there yet: it is made at {made:%Y-%m-%d %H:%M}"
                )
        if agents[turn.agent_id].search_scope == "session" and turn.conversation is None:
            place.fault(
                f"conversation is missing: the agent {turn.agent_id!r} has search_scope 'session'"
            )
        turns.append(turn)
    if not top.tables("turns"):
        top.faults.add("at least one [[turns]] is needed")
    return tuple(turns)


def _agent(place: Place) -> SessionAgent:
    place.known_keys(("id", "instructions", "search_scope"))
    plain = SessionAgent("")
    return SessionAgent(
        id=place.text("id", blank=False),
        instructions=place.text("instructions", default=plain.instructions),
        search_scope=place.choice("search_scope", SEARCH_SCOPES, default=plain.search_scope),
    )


def _user(place: Place) -> SessionUser:
    place.known_keys(("id", "name", "about"))
    user_id = place.text("id", blank=False)
    return SessionUser(
        user_id, name=place.text("name", default=user_id), about=place.text("about", default="")
    )


def _memory(place: Place, agents: Collection[str], users: Collection[str]) -> Entry | None:
    place.known_keys(_MEMORY_KEYS)
    before = place.faults.count
    values: dict[str, Any] = {
        "id": place.text("id", blank=False),
        "content": place.text("content", blank=False),
        "user_id": _one_of(place, "user", users),
        "agent_id": _one_of(place, "agent", agents),
        "created_at": place.instant("created_at"),
    }
    if "last_accessed_at" in place.table:
        values["last_accessed_at"] = place.instant("last_accessed_at")
    if "conversation" in place.table:
        values["session_id"] = place.text("conversation")
    for key in ("type", "importance", "evergreen", "metadata", "namespace", "access_count"):
        if key in place.table:
            values[key] = place.table[key]
    if place.faults.count > before:
        return None
    try:
        return Entry(**values)
    except NousmemError as error:
        place.fault(str(error))
        return None


def _facts(top: Place, memories: Collection[str]) -> dict[str, Fact]:
    facts: dict[str, Fact] = {}
    for name, place in top.named_tables("facts"):
        place.known_keys(("says",))
        says = place.texts("says")
        if says == () and place.table.get("says", []) == []:
            place.fault("says must be a list of the words that a memory needs to say it")
        if name in memories:
            place.fault(f"the name {name!r} is taken by a memory")
        facts[name] = Fact(name, says)
    return facts


def _turn(
    place: Place,
    number: int,
    agents: Collection[str],
    users: Collection[str],
    names: Collection[str],
) -> SessionTurn | None:
    place.known_keys(_TURN_KEYS)
    before = place.faults.count
    named: list[str] = []
    for key in ("expects", "forbids"):
        for wanted in place.texts(key):
            if wanted in named:
                place.fault(f"{key}: {wanted!r} is named twice in expects and forbids")
            named.append(wanted)
            if wanted not in names:
                hint = suggestion(wanted, names)
                place.fault(f"{key}: {wanted!r} is no memory and no fact{hint}")
    turn = SessionTurn(
        id=place.text("id", default=f"t{number}", blank=False),
        at=place.instant("at"),
        user_id=_one_of(place, "user", users) or "",
        agent_id=_one_of(place, "agent", agents) or "",
        text=place.text("text", blank=False),
        conversation=place.text("conversation") if "conversation" in place.table else None,
        expects=place.texts("expects"),
        forbids=place.texts("forbids"),
        answer=place.text("answer", default=""),
        script=tuple(_step(step, names) for step in place.tables("model")),
        operations=tuple(_operation(one) for one in place.tables("operations")),
    )
    if turn.script and not turn.script[-1].reply:
        place.fault("model: the last step must have a reply")
    return None if place.faults.count > before else turn


def _step(place: Place, names: Collection[str]) -> ScriptStep:
    place.known_keys(("reply", "calls"))
    calls: list[ToolUse] = []
    for one in place.tables("calls"):
        one.known_keys(("tool", "args"))
        tool = one.choice("tool", tuple(TOOLS), default="")
        given: object = one.table.get("args", {})
        if not isinstance(given, dict):
            one.fault(f"args must be a table, got {given!r}")
            continue
        args = cast("dict[str, Any]", given)
        if tool:
            inside = Place(args, one.faults, one.path)
            inside.known_keys(TOOLS[tool])
            inside.text(TOOLS[tool][0], blank=False)
        wanted = str(args.get("id", ""))
        if tool == "forget" and wanted and wanted not in names:
            one.fault(f"forget: {wanted!r} is no memory and no fact{suggestion(wanted, names)}")
        calls.append(ToolUse(tool, args))
    reply = place.text("reply", default="")
    if bool(reply) == bool(place.table.get("calls")):
        place.fault("a step of the model has either a reply or calls")
    return ScriptStep(reply, tuple(calls))


def _operation(place: Place) -> Mapping[str, Any]:
    place.known_keys(OPERATION_KEYS)
    if "action" not in place.table:
        place.fault("action is missing")
        return place.table
    action = place.choice("action", tuple(OPERATIONS), default="")
    if action:
        place.text(OPERATIONS[action], blank=False)
    return place.table


def _one_of(place: Place, key: str, known: Collection[str]) -> str | None:
    """Return the id given; without one, the only one there is."""
    if key not in place.table and len(known) == 1:
        return next(iter(known))
    if key not in place.table:
        place.fault(f"{key} is missing, and there is not exactly one to choose")
        return None
    before = place.faults.count
    value = place.text(key)
    if place.faults.count == before and value not in known:
        place.fault(f"{key}: {value!r} is not among the {key}s{suggestion(value, known)}")
    return value


def _options(top: Place) -> dict[str, Any]:
    from nousmem.agent.sessions._options import OPTIONS, check_options

    table: object = top.table.get("memory", {})
    if not isinstance(table, dict):
        top.fault("memory must be a table of options")
        return {}
    given = cast("dict[str, Any]", table)
    place = Place(given, top.faults, "memory")
    place.known_keys(OPTIONS)
    known = {name: value for name, value in given.items() if name in OPTIONS}
    try:
        check_options(known)
    except NousmemError as error:
        place.fault(str(error))
    return known
