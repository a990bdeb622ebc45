"""Plain chat logs: role, content and time, as JSON, JSON Lines, CSV, TSV or Parquet.

There is no format to verify against; names are guessed, without regard to case:

| names | Entry |
|---|---|
| `content`, `text`, `message`, `body`, `value` | `content`; `type` episodic |
| `role`, `author`, `speaker`, `sender`, `from` | `metadata.role` |
| `timestamp`, `time`, `created_at`, `datetime`, `date`, `ts`, `create_time`, `sent_at` | `created_at` |
| `id`, `message_id`, `uuid` | `id`; else made from conversation, place and message |
| `session_id`, `conversation_id`, `thread_id`, `chat_id`, `conversation`, `thread` | `session_id` |
| `user_id`, `agent_id`, `namespace` | the same |
| `metadata` | `metadata` |
| anything else | `metadata`, under its own name |

A record with a list under `messages` is a conversation: its `id` or `session_id` goes to each
message, its other fields to `metadata.conversation`. Left out: messages without text, such as
calls of tools.

Times: ISO text, or seconds, milliseconds or finer since 1970, told apart by their size.
"""  # noqa: E501  # a table's row is one line

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from nousmem.corpora.files import PathLike
from nousmem.corpora.reading import Node
from nousmem.corpora.tables import guess_columns, json_value, read_rows
from nousmem.entry import Entry, MemoryType
from nousmem.errors import InvalidParameter
from nousmem.importers._documents import IN_MEMORY, documents, is_path, present
from nousmem.importers._messages import check_roles, split_parts
from nousmem.importers._records import Record, Terms, collect, hoist, is_text, iso, pack, stable_id
from nousmem.scope import GLOBAL, Scope

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TABLE_SUFFIXES", "guess_fields", "read_chat_log", "write_chat_log"]

SOURCE: Final = "chat-log"
TABLE_SUFFIXES: Final = (".csv", ".tsv", ".parquet")
"""Endings of files that hold a table, which only a chat log does."""

FIELDS: Final[Mapping[str, Sequence[str]]] = {
    "content": ("content", "text", "message", "body", "value"),
    "role": ("role", "author", "speaker", "sender", "from"),
    "timestamp": (
        "timestamp",
        "time",
        "created_at",
        "datetime",
        "date",
        "ts",
        "create_time",
        "sent_at",
    ),
    "id": ("id", "message_id", "uuid"),
    "session_id": (
        "session_id",
        "conversation_id",
        "thread_id",
        "chat_id",
        "conversation",
        "thread",
    ),
    "user_id": ("user_id",),
    "agent_id": ("agent_id",),
    "namespace": ("namespace",),
}
_CONVERSATION: Final = ("id", *FIELDS["session_id"])


def read_chat_log(
    path_or_data: PathLike | pd.DataFrame | Any,
    *,
    columns: Mapping[str, str] | None = None,
    roles: Collection[str] | None = None,
    scope: Scope = GLOBAL,
    created_at: datetime | None = None,
    assume_utc: bool = False,
    vectors: bool = True,
) -> list[Entry]:
    """Return the messages of a chat log, in its order.

    Args:
        path_or_data: A .json, .jsonl, .csv, .tsv or .parquet file; a data frame; or messages.
        columns: Which name holds which field, where a guess would go wrong; the fields are
            content, role, timestamp, id, session_id, user_id, agent_id, namespace.
        roles: Whose messages; None for everyone's.
        scope: Scope fields for messages that name none, such as `Scope(session_id=...)`.
        created_at: When messages without a time were made; None refuses them.
        assume_utc: Read times without an offset as UTC, instead of refusing them.
        vectors: Take over vectors that `write_chat_log` kept.

    Raises:
        CorpusFileMissing: there is no file at the path.
        CorpusError: the file is damaged or a record is not a message; names file and place.
        InvalidParameter: `columns` names a field there is not, or a name that no message has;
            `roles` is not a collection of names.
    """
    terms = Terms(scope=scope, created_at=created_at, assume_utc=assume_utc, vectors=vectors)
    columns = dict(columns or {})
    guess_columns(columns.values(), FIELDS, columns, what="messages")
    return collect(_read(_open(path_or_data), terms, columns, check_roles(roles)))


def write_chat_log(entries: Iterable[Entry], *, vectors: bool = False) -> list[dict[str, Any]]:
    """Return entries as messages: role (if the metadata has one), content, timestamp and ids.

    Args:
        entries: What is written.
        vectors: Keep vectors too, in the metadata.
    """
    return [_record(entry, vectors=vectors) for entry in entries]


def guess_fields(record: Mapping[str, Any]) -> set[str]:
    """Return which fields of a message the names of a record stand for."""
    return set(guess_columns(record, FIELDS, {}, what="messages"))


def read_record(record: Record) -> Entry:
    """Return the entry of one message, for a writer to see what is lost."""
    return _entry(record, _names(record.node, {}), _Conversation())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conversation:
    """What is said once for many messages."""

    session_id: str | None = None
    said_at: datetime | None = None
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])


def _entry(
    record: Record,
    names: Mapping[str, str],
    conversation: _Conversation,
    *,
    made_id: str | None = None,
) -> Entry:
    content, others = split_parts(record.need(names["content"]).value)
    found = {
        name: record.name(names[name]) if name in names else None
        for name in ("role", "id", "session_id", "user_id", "agent_id", "namespace")
    }
    said_at = record.instant(names["timestamp"]) if "timestamp" in names else None
    own = {
        "role": found.pop("role"),
        "parts": others or None,
        "conversation": conversation.fields or None,
    }
    metadata = record.node.mapping().get("metadata")
    return record.entry(
        content,
        metadata=record.object("metadata") if isinstance(metadata, Mapping) else {},
        extra=own,
        **{
            **found,
            "id": found["id"] or made_id,
            "session_id": found["session_id"] or conversation.session_id,
        },
        type=MemoryType.EPISODIC,
        created_at=said_at or conversation.said_at,
    )


def _names(node: Node, columns: Mapping[str, str]) -> dict[str, str]:
    """Return which name of this message holds which field."""
    given = {name: column for name, column in columns.items() if column in node.mapping()}
    names = guess_columns(node.mapping(), FIELDS, given, what="messages")
    if "content" not in names:
        raise node.error(
            f"no field looks like the content of a message; fields: {', '.join(node.mapping())}"
        )
    return names


def _open(given: Any) -> Iterator[Node]:
    is_frame = hasattr(given, "iloc")
    if not is_frame and not (is_path(given) and _suffix(given) in TABLE_SUFFIXES):
        yield from documents(given)
        return
    file = IN_MEMORY if is_frame else present(given)
    for number, row in enumerate(read_rows(given if is_frame else file, what="chat log"), 1):
        values = {name: json_value(value) for name, value in row.items()}
        yield Node(values, file, f"row {number} $")


def _suffix(given: PathLike) -> str:
    return present(given).suffix.lower()


def _spread(node: Node, terms: Terms) -> Iterator[tuple[Node, _Conversation]]:
    """Yield the messages of a conversation, or the record as the one message it is."""
    if not isinstance(node.mapping().get("messages"), list):
        yield node, _Conversation()
        return
    record = Record(node, SOURCE, terms)
    messages = record.need("messages")
    conversation = _Conversation(
        session_id=record.name(*_CONVERSATION),
        said_at=record.instant(*FIELDS["timestamp"]),
        fields=record.left(),
    )
    for message in messages.items():
        yield message, conversation


def _read(
    nodes: Iterable[Node],
    terms: Terms,
    columns: Mapping[str, str],
    roles: frozenset[str] | None,
) -> Iterator[tuple[Node, Entry]]:
    seen: set[str] = set()
    times: Counter[str] = Counter()
    for outer in nodes:
        for node, conversation in _spread(outer, terms):
            seen |= node.mapping().keys()
            names = _names(node, columns)
            if _is_wanted(node, names, roles):
                made_of = [node.value, repr(conversation), repr(terms.scope)]
                made_id = stable_id(made_of)
                times[made_id] += 1
                if times[made_id] > 1:
                    # The same words at the same time: said twice, so remembered twice.
                    made_id = stable_id([*made_of, times[made_id]])
                record = Record(node, SOURCE, terms)
                yield node, _entry(record, names, conversation, made_id=made_id)
    for name, column in columns.items():
        if seen and column not in seen:
            raise InvalidParameter(
                f"no message has the {name} {column!r}; their fields: {', '.join(sorted(seen))}"
            )


def _is_wanted(node: Node, names: Mapping[str, str], roles: frozenset[str] | None) -> bool:
    content = node.get(names["content"])
    if content is None:
        return False
    if not isinstance(content.value, list):
        content.text()
    role = node.get(names["role"]) if "role" in names else None
    is_asked_for = roles is None or (role is not None and role.value in roles)
    return is_asked_for and bool(split_parts(node[names["content"]].value)[0].strip())


def _record(entry: Entry, *, vectors: bool) -> dict[str, Any]:
    metadata, foreign = hoist(entry.metadata, {"role": is_text}, SOURCE)

    def build(kept: Mapping[str, Any]) -> dict[str, Any]:
        scope = {
            name: getattr(entry, name)
            for name in ("session_id", "user_id", "agent_id", "namespace")
            if getattr(entry, name) is not None
        }
        known = {**metadata, **kept}
        return {
            "id": entry.id,
            **foreign,
            "content": entry.content,
            "timestamp": iso(entry.created_at),
            **scope,
            **({"metadata": known} if known else {}),
        }

    return pack(entry, build, read_record, source=SOURCE, vectors=vectors)
