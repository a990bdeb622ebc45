"""An agent's memory as a server of the Model Context Protocol, for any assistant that speaks it.

Whoever is connected sees one fixed scope, and can name no other: there is no argument for it.
"""

from __future__ import annotations

import inspect
import ipaddress
import json
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Final, cast

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ArgsKwargs

from nousmem.agent._access import MemoryAccess
from nousmem.agent._tool_functions import CAUTION, TIMEOUT_SECONDS, USE, tool_functions
from nousmem.errors import InvalidParameter, UnknownName
from nousmem.scope import SCOPE_FIELDS, Scope

__all__ = ["FixedAccess", "is_loopback", "listen", "memory_server", "serve_http", "serve_stdio"]

_LOG = logging.getLogger(__name__)
_GRACE_SECONDS: Final = 3

_HINTS: Final = {
    "remember": types.ToolAnnotations(destructive_hint=False, open_world_hint=False),
    # It counts an access, which keeps a memory fresh: not quite without a trace.
    "recall": types.ToolAnnotations(destructive_hint=False, open_world_hint=False),
    "forget": types.ToolAnnotations(
        destructive_hint=True, idempotent_hint=True, open_world_hint=False
    ),
}


@dataclass(kw_only=True, eq=False)
class FixedAccess(MemoryAccess):
    """Access that is searched by every scope field that is set, namespace and session included.

    With none set, it is the whole store. What is remembered carries the same fields.
    """

    def __post_init__(self) -> None:
        # Two sessions may hold the same memory, once they are searched apart.
        self.default_search_scope = "agent" if self.session_id is None else "session"
        super().__post_init__()
        self._scope = Scope(**{name: getattr(self, name) for name in SCOPE_FIELDS})


def memory_server(access: MemoryAccess, *, timeout: float = TIMEOUT_SECONDS) -> Server[Any]:
    """Return a server with the tools remember, recall and forget over `access`.

    Each call runs in a thread, so several clients are served at once. Every failure is a tool's
    error with a message: arguments outside the schema, an unknown tool, a store that fails. A
    result is given twice, as a JSON object and as the same JSON in a text.

    Args:
        access: Whose memory; `FixedAccess` keeps to every scope field.
        timeout: Seconds until a call is given up; what it was doing may still be done.
    """
    tools = {one.__name__: _Tool(one) for one in tool_functions(access)}

    async def list_tools(*_: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool.definition() for tool in tools.values()])

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            return _failed(str(UnknownName("tool", params.name, tools)))
        arguments = params.arguments or {}
        try:
            with anyio.fail_after(timeout):
                result = await anyio.to_thread.run_sync(
                    tool.call, arguments, abandon_on_cancel=True
                )
        except ValidationError as error:
            return _failed(f"{params.name}: {_complaint(error)}")
        except TimeoutError:
            return _failed(f"{params.name} took more than {timeout:g} seconds and was given up")
        except Exception as error:  # noqa: BLE001  # the session goes on, and the client is told
            _LOG.exception("%s failed", params.name)
            return _failed(f"{params.name} failed: {type(error).__name__}: {error}")
        if result["status"] == "error":
            return _failed(str(result["message"]))
        text = types.TextContent(type="text", text=json.dumps(result, ensure_ascii=False))
        return types.CallToolResult(content=[text], structured_content=result)

    return Server(
        "nousmem",
        version=metadata.version("nousmem"),
        instructions=f"{USE} {CAUTION}",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_stdio(server: Server[Any]) -> None:
    """Serve the client on standard input and output until it closes them.

    Meanwhile nothing but the protocol reaches standard output; what is printed goes to standard
    error.
    """
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes a free one.

    Raises:
        InvalidParameter: the address is not ours, or is taken.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise InvalidParameter(
            f"cannot listen on {host}:{port}: {error}; give another host or port"
        ) from None


async def serve_http(server: Server[Any], listening: socket.socket) -> None:
    """Serve clients over streamable HTTP at the path /mcp until the process is interrupted.

    There is no password. On a loopback address, requests that a web page of another origin
    makes, or that name another host, are refused.
    """
    import uvicorn

    host = str(listening.getsockname()[0])
    security = None
    if is_loopback(host):
        names = [f"[{host}]" if ":" in host else host, "127.0.0.1", "localhost", "[::1]"]
        security = TransportSecuritySettings(
            allowed_hosts=[f"{name}:*" for name in names],
            allowed_origins=[f"http://{name}:*" for name in names],
        )
    config = uvicorn.Config(
        server.streamable_http_app(host=host, transport_security=security),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    await uvicorn.Server(config).serve(sockets=[listening])


def is_loopback(host: str) -> bool:
    """Whether a host's name or address reaches this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Tool:
    """One of the tool functions, with its schema."""

    def __init__(self, function: Callable[..., dict[str, Any]]) -> None:
        self._name = function.__name__
        self._description = inspect.cleandoc(function.__doc__ or "")
        self._adapter: TypeAdapter[Any] = TypeAdapter(cast("Any", function))

    def definition(self) -> types.Tool:
        schema = self._adapter.json_schema()
        for field in schema["properties"].values():
            del field["title"]
        return types.Tool(
            name=self._name,
            description=self._description,
            input_schema=schema,
            annotations=_HINTS[self._name],
        )

    def call(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return cast("dict[str, Any]", self._adapter.validate_python(ArgsKwargs((), arguments)))


def _failed(message: str) -> types.CallToolResult:
    text = types.TextContent(type="text", text=message)
    return types.CallToolResult(content=[text], is_error=True)


def _complaint(error: ValidationError) -> str:
    faults: list[str] = []
    for fault in error.errors(include_url=False):
        name, *inside = map(str, fault["loc"])
        if fault["type"] == "missing_argument":
            faults.append(f"{name}: {fault['msg']}")
        elif inside != ["none"]:  # what may be left out may not be null for that
            faults.append(f"{name}: {fault['msg']}, got {_start(fault['input'])}")
    return "; ".join(faults)


def _start(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
