"""ChatGPT: the `conversations.json` of a data export.

Unverified: no package writes this file. The shape is that of published exports.

A conversation is a tree: an edited question or a regenerated answer starts a branch. The current
branch is the way from `current_node` up to the root.

| conversations.json | Entry |
|---|---|
| the conversation's `conversation_id` or `id` | `session_id` |
| that and the message's `id` | `id`, joined by `/`: shared conversations repeat their messages |
| the text parts of `content` | `content`; `type` episodic |
| `author.role` | `metadata.role` |
| `create_time`; if null, that of the message before it, or of the conversation | `created_at` |
| `update_time` | `updated_at` |
| parts that are no text, such as images | `metadata.parts` |
| the message's other fields: `status`, `metadata`, `recipient`, … | `metadata`, under their own names |
| the conversation's other fields: `title`, `gizmo_id`, … | `metadata.conversation` |

Left out: messages without text, those of other roles than asked for, those hidden from view, and
calls of tools (messages to a `recipient` other than `all`).

Times: seconds since 1970, as a number.
"""  # noqa: E501  # a table's row is one line

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from nousmem.corpora.files import PathLike
from nousmem.corpora.reading import Node
from nousmem.entry import Entry, MemoryType
from nousmem.errors import InvalidParameter
from nousmem.importers._documents import documents, inside
from nousmem.importers._messages import check_roles, split_parts
from nousmem.importers._records import Record, Terms, collect
from nousmem.scope import GLOBAL, Scope

__all__ = ["read_chatgpt"]

SOURCE: Final = "chatgpt"
WRAPPERS: Final = ("conversations",)

_HIDDEN: Final = "is_visually_hidden_from_conversation"
_SPOKEN: Final = ("user", "assistant")


def read_chatgpt(
    path_or_data: PathLike | Any,
    *,
    branch: Literal["current", "all"] = "current",
    roles: Collection[str] | None = _SPOKEN,
    scope: Scope = GLOBAL,
    created_at: datetime | None = None,
    assume_utc: bool = False,
    vectors: bool = True,
) -> list[Entry]:
    """Return the messages of exported ChatGPT conversations, in the order they were said.

    Args:
        path_or_data: A `conversations.json`, read one conversation at a time; or the value.
        branch: "current" for what the user sees; "all" for abandoned branches too.
        roles: Whose messages; None for everyone's, `system` and `tool` included.
        scope: Scope fields for all messages, such as `Scope(user_id=...)`: an export names no
            user.
        created_at: When messages without any time were made; None refuses them.
        assume_utc: Read times without an offset as UTC; ChatGPT's have none to lack.
        vectors: No effect: the file holds none.

    Raises:
        CorpusFileMissing: there is no file at the path.
        CorpusError: the file is damaged or holds no conversations; names file and place.
        InvalidParameter: `branch` or `roles` is not one of what they may be.
    """
    if branch not in ("current", "all"):
        raise InvalidParameter(f"branch must be 'current' or 'all', got {branch!r}")
    terms = Terms(scope=scope, created_at=created_at, assume_utc=assume_utc, vectors=vectors)
    wanted = check_roles(roles)
    return collect(
        made
        for document in documents(path_or_data)
        for node in inside(document, *WRAPPERS)
        for made in _messages(node, terms, wanted, whole=branch == "all")
    )


@dataclass(frozen=True, slots=True)
class _Conversation:
    id: str
    fields: dict[str, Any]


def _messages(
    node: Node, terms: Terms, wanted: frozenset[str] | None, *, whole: bool
) -> Iterator[tuple[Node, Entry]]:
    record = Record(node, SOURCE, terms)
    tree = dict(record.need("mapping").fields())
    current = record.take("current_node")
    name = record.name("conversation_id", "id")
    if name is None:
        raise node.error("the conversation has neither 'conversation_id' nor 'id'")
    record.discard("id", name)
    said_at = record.instant("create_time")
    conversation = _Conversation(name, record.left())
    for step in tree.values() if whole else _branch(node, tree, current):
        message = step.get("message")
        if message is None:
            continue
        said = Record(message, SOURCE, terms)
        said_at = said.instant("create_time") or said_at
        entry = _entry(said, said_at, conversation, wanted)
        if entry is not None:
            yield message, entry


def _branch(node: Node, tree: dict[str, Node], current: Node | None) -> list[Node]:
    at = current.text() if current is not None else _newest_leaf(tree)
    branch: list[Node] = []
    seen: set[str] = set()
    while at is not None:
        if at not in tree:
            raise node.error(f"the mapping has no message {at!r}, which the current branch needs")
        if at in seen:
            raise node.error(f"the message {at!r} is its own ancestor")
        seen.add(at)
        branch.append(tree[at])
        parent = tree[at].get("parent")
        at = None if parent is None else parent.text()
    return branch[::-1]


def _newest_leaf(tree: dict[str, Node]) -> str | None:
    leaves = [name for name, step in tree.items() if not step.mapping().get("children")]
    return leaves[-1] if leaves else None


def _entry(
    said: Record,
    said_at: datetime | None,
    conversation: _Conversation,
    wanted: frozenset[str] | None,
) -> Entry | None:
    author = said.object("author")
    role = author.pop("role", None)
    fields = said.object("content")
    content, others = split_parts(fields.pop("parts", None) or fields.pop("text", None))
    details = said.node.get("metadata")
    hidden = details is not None and details.mapping().get(_HIDDEN) is True
    recipient = said.node.mapping().get("recipient")
    if (
        not content.strip()
        or hidden
        or recipient not in (None, "all")
        or (wanted is not None and role not in wanted)
    ):
        return None
    name = said.name("id")
    if name is None:
        raise said.node.error("the field 'id' is missing or null")
    metadata = {
        "role": role,
        "author": {key: value for key, value in author.items() if value},
        "content": fields,
        "parts": others,
        "conversation": conversation.fields,
    }
    return said.entry(
        content,
        metadata={key: value for key, value in metadata.items() if value},
        id=f"{conversation.id}/{name}",
        type=MemoryType.EPISODIC,
        session_id=conversation.id,
        created_at=said_at,
        updated_at=said.instant("update_time"),
    )
