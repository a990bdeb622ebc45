"""Session files: TOML, checked as a whole, with all that is wrong said at once."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final, cast

from nousmem.agent.access import SEARCH_SCOPES
from nousmem.agent.sessions.places import Faults, Place
from nousmem.agent.sessions.session import (
    Fact,
    Session,
    SessionAgent,
    SessionTurn,
    SessionUser,
)
from nousmem.agent.stand_ins.scripts import ScriptStep, ToolUse
from nousmem.entry import Entry
from nousmem.errors import NousmemError, SessionError

__all__ = ["parse_session", "read_session", "read_sessions"]

# Transcripts and pages are named after it.
_FILE_NAME: Final = re.compile(r"\w[\w .-]*")

TOOLS: Final = ("remember", "recall", "forget")

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
    for kind, found in (("agents", agents), ("users", users)):
        if not found:
            faults.add(f"at least one [[{kind}]] with an id is needed")
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
    turns: list[SessionTurn] = []
    for number, place in enumerate(top.tables("turns"), 1):
        turn = _turn(place, number, agents, users, names)
        if turn is None:
            continue
        if turns and turn.at < turns[-1].at:
            place.fault(f"at {turn.at:%Y-%m-%d %H:%M} is before the turn above it")
        if any(turn.id == other.id for other in turns):
            place.fault(f"the id {turn.id!r} is taken by another turn")
        turns.append(turn)
    if not top.tables("turns"):
        faults.add("at least one [[turns]] is needed")
    own_name = top.text("name", default=name, blank=False)
    if not _FILE_NAME.fullmatch(own_name):
        faults.add(f"name must be letters, digits, spaces, dots and dashes, got {own_name!r}")
    return Session(
        name=own_name,
        about=top.text("about", default=""),
        agents=agents,
        users=users,
        memories=memories,
        facts=facts,
        turns=tuple(turns),
        options=_options(top),
    )


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
        if not says:
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
    for key in ("expects", "forbids"):
        for wanted in place.texts(key):
            if wanted not in names:
                place.fault(f"{key}: {wanted!r} is no memory and no fact{_close(wanted, names)}")
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
        operations=tuple(one.table for one in place.tables("operations")),
    )
    if turn.script and not turn.script[-1].reply:
        place.fault("model: the last step must have a reply")
    return None if place.faults.count > before else turn


def _step(place: Place, names: Collection[str]) -> ScriptStep:
    place.known_keys(("reply", "calls"))
    calls: list[ToolUse] = []
    for one in place.tables("calls"):
        one.known_keys(("tool", "args"))
        tool = one.choice("tool", TOOLS, default="")
        given: object = one.table.get("args", {})
        if not isinstance(given, dict):
            one.fault(f"args must be a table, got {given!r}")
            continue
        args = cast("dict[str, Any]", given)
        wanted = str(args.get("id", ""))
        if tool == "forget" and wanted not in names:
            one.fault(f"forget: {wanted!r} is no memory and no fact{_close(wanted, names)}")
        calls.append(ToolUse(tool, args))
    reply = place.text("reply", default="")
    if bool(reply) == bool(place.table.get("calls")):
        place.fault("a step of the model has either a reply or calls")
    return ScriptStep(reply, tuple(calls))


def _one_of(place: Place, key: str, known: Collection[str]) -> str | None:
    """Return the id given; without one, the only one there is."""
    if key not in place.table and len(known) == 1:
        return next(iter(known))
    if key not in place.table:
        place.fault(f"{key} is missing, and there is not exactly one to choose")
        return None
    value = place.text(key)
    if value not in known:
        place.fault(f"{key}: {value!r} is not among the {key}s{_close(value, known)}")
    return value


def _options(top: Place) -> dict[str, Any]:
    from nousmem.agent.sessions.options import OPTIONS, check_options

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


def _close(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""
