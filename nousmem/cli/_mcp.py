"""`nousmem mcp`: give an assistant on this machine a memory, over the Model Context Protocol."""

from __future__ import annotations

import signal
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Final

import typer

from nousmem.cli._opening import EmbedderName, opened
from nousmem.cli._scoping import AgentId, Namespace, SessionId, UserId, chosen_scope
from nousmem.cli._settings import Changes, Preset, SettingsFile, chosen_settings
from nousmem.embeddings import open_embedder
from nousmem.errors import InvalidParameter, requiring
from nousmem.scope import SCOPE_FIELDS

if TYPE_CHECKING:
    from nousmem.agent.mcp_server import FixedAccess

__all__ = ["mcp"]

_LOOPBACK: Final = "127.0.0.1"
_PACKAGES: Final = ("mcp", "mcp_types", "pydantic", "pydantic_core", "anyio")


def mcp(
    store: Annotated[
        str, typer.Argument(help="Store URL, such as sqlite:memories.db; made if it is not there.")
    ],
    *,
    user_id: UserId = None,
    agent_id: AgentId = None,
    session_id: SessionId = None,
    namespace: Namespace = None,
    embedder: EmbedderName = "none",
    settings: SettingsFile = None,
    preset: Preset = None,
    change: Changes = None,
    evidence: Annotated[
        bool,
        typer.Option(
            "--evidence",
            help="Recall only what holds enough of the query's words or is near enough to it "
            "(inject_min_words, inject_min_cosine), so that nonsense finds nothing.",
        ),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Offer recall an argument that has scores taken apart."),
    ] = False,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Serve streamable HTTP at /mcp instead of standard input and output. "
            "HOST is 127.0.0.1 unless given; there is no password.",
        ),
    ] = None,
) -> None:
    """Serve remember, recall and forget over MCP: the memories of one fixed scope.

    What is remembered carries the ids given here, and only entries that carry them are recalled
    or forgotten. With none given, that is the whole store.
    """
    scope = chosen_scope(
        user_id=user_id, agent_id=agent_id, session_id=session_id, namespace=namespace
    )
    chosen = chosen_settings(settings, preset, change)
    address = None if http is None else _address(http)
    served = _serving()
    with opened(store) as found, suppress(KeyboardInterrupt):
        access = served.FixedAccess(
            store=found,
            embedder=open_embedder(embedder),
            settings=chosen,
            recall_evidence=evidence,
            explain_recall=explain,
            user_id=scope.user_id,
            agent_id=scope.agent_id,
            session_id=scope.session_id,
            namespace=scope.namespace,
        )
        _serve(access, address)


def _serving() -> ModuleType:
    with requiring("mcp", extra="mcp", purpose="nousmem mcp", modules=_PACKAGES):
        from nousmem.agent import mcp_server
    return mcp_server


def _serve(access: FixedAccess, address: tuple[str, int] | None) -> None:
    import anyio

    from nousmem.agent.mcp_server import (
        is_loopback,
        listen,
        memory_server,
        serve_http,
        serve_stdio,
    )

    server = memory_server(access)
    if address is None:
        # The thread that reads standard input cannot be woken: Ctrl-C would wait for a line. What
        # is written is written in transactions, so there is nothing to tidy up.
        before = signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            anyio.run(serve_stdio, server)
        finally:
            signal.signal(signal.SIGINT, before)
        return
    listening = listen(*address)
    host, port = listening.getsockname()[:2]
    place = f"[{host}]" if ":" in host else host
    ids = [
        f"{name} {getattr(access, name)!r}"
        for name in SCOPE_FIELDS
        if getattr(access, name) is not None
    ]
    whose = f"the memories of {', '.join(ids)}" if ids else "all memories of the store"
    typer.echo(f"nousmem: serving {whose} at http://{place}:{port}/mcp", err=True)
    if not is_loopback(host):
        typer.echo(
            "nousmem: warning: whoever reaches this address can read and erase these memories; "
            "there is no password",
            err=True,
        )
    anyio.run(serve_http, server, listening)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or _LOOPBACK
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise InvalidParameter(f"--http must be PORT or HOST:PORT, got {text!r}")
    return host, int(port)
