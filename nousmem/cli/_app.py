"""The command and its subcommands; user errors end with status 2 and one line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any, Final, NoReturn

import typer

from nousmem.cli import (
    _cache as cache,
)
from nousmem.cli import (
    _compare as compare,
)
from nousmem.cli import (
    _corpora as corpora,
)
from nousmem.cli import (
    _demo as demo,
)
from nousmem.cli import (
    _gate as gate,
)
from nousmem.cli import (
    _lab as lab,
)
from nousmem.cli import (
    _label as label,
)
from nousmem.cli import (
    _load as load,
)
from nousmem.cli import (
    _mcp as mcp,
)
from nousmem.cli import (
    _report as report,
)
from nousmem.cli import (
    _search as search,
)
from nousmem.cli import (
    _session as session,
)
from nousmem.cli import (
    _sweep as sweep,
)
from nousmem.cli import (
    _transfer as transfer,
)
from nousmem.cli import (
    _upkeep as upkeep,
)
from nousmem.errors import NousmemError

__all__ = ["app", "main"]

app = typer.Typer(
    help="Agent memory, and the laboratory to tune it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command("demo")(demo.demo)
app.command("corpora")(corpora.corpora)
app.command("load")(load.load)
app.command("search")(search.search)
app.command("session")(session.session)
app.command("label")(label.label)
app.command("sweep")(sweep.sweep)
app.command("compare")(compare.compare)
app.command("report")(report.report)
app.command("gate")(gate.gate)
app.command("lab")(lab.lab)
app.command("check")(upkeep.check)
app.command("export")(transfer.export)
app.command("import")(transfer.import_)
app.command("reembed")(upkeep.reembed)
app.command("forget")(upkeep.forget)
app.command("mcp")(mcp.mcp)
app.add_typer(cache.app, name="cache")


def _show_version(wanted: bool) -> None:  # noqa: FBT001  # Typer calls it so
    if wanted:
        import nousmem

        typer.echo(f"nousmem {nousmem.__version__}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Print the version and stop.",
        ),
    ] = False,
) -> None:
    """Agent memory, and the laboratory to tune it."""


def main() -> None:
    """Run the command."""
    warnings.showwarning = _warning_lines()
    try:
        status = app(prog_name="nousmem", standalone_mode=False)
    except typer.Abort:
        sys.exit(1)
    except _USAGE_ERROR as error:
        _refuse(_usage(error))
    except NousmemError as error:
        _refuse(str(error))
    except OSError as error:  # such as a folder for the result that cannot be made
        named = "" if error.filename is None else f"{error.filename}: "
        _refuse(f"{named}{error.strerror or error}")
    except MemoryError as error:
        _refuse(f"there is not enough memory for that much: {error}")
    sys.exit(status if isinstance(status, int) else 0)


_USAGE_ERROR: Final[Any] = typer.BadParameter.__base__
"""What Typer raises for wrong arguments; it has no public name in every release."""


def _usage(error: Any) -> str:
    message = str(error.format_message()).rstrip(".")
    if not message:  # a command without arguments, whose help is printed already
        sys.exit(2)
    place = "nousmem" if error.ctx is None else error.ctx.command_path
    return f"{message}; see `{place} --help`"


def _refuse(message: str) -> NoReturn:
    typer.echo(f"nousmem: {' '.join(message.split())}", err=True)
    sys.exit(2)


def _warning_lines() -> Callable[..., None]:
    """Return what prints a warning as one line; equal ones, such as of each condition, once."""
    said: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        line = " ".join(str(message).split())
        if line not in said:
            said.add(line)
            typer.echo(f"nousmem: warning: {line}", err=True)

    return show
