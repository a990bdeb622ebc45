"""`nousmem session`: written conversations under several settings, side by side."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from nousmem.cli._opening import EmbedderName
from nousmem.cli._output import frame_records, print_json, print_table
from nousmem.cli._settings import Changes, parse_changes
from nousmem.errors import SessionError
from nousmem.retrieval.presets import PRESETS
from nousmem.retrieval.settings import Settings, read_settings

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from nousmem.agent.sessions import Session, Transcript

__all__ = ["session"]

DEFAULT: Final = "default"


def session(
    target: Annotated[
        Path | None, typer.Argument(help="A session file (.toml), or a folder of them.")
    ] = None,
    *,
    model: Annotated[
        str,
        typer.Option(
            help="extractive or scripted (stand-ins, no key needed), or a model of Pydantic AI "
            "such as openai:gpt-4o-mini."
        ),
    ] = "extractive",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="A file of settings, as sweep writes for the best ones, or the word default; "
            "repeat it.",
        ),
    ] = None,
    preset: Annotated[
        list[str] | None,
        typer.Option(help=f"Settings by name: {' or '.join(PRESETS)}; repeat it."),
    ] = None,
    change: Changes = None,
    embedder: EmbedderName = "none",
    store: Annotated[str, typer.Option(help="sqlite, memory or duckdb.")] = "sqlite",
    option: Annotated[
        list[str] | None,
        typer.Option(help="An option of Memory for every setting, such as inject_min_score=0."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for transcripts (.jsonl) and pages (.html), one of them index.html."
        ),
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="A model of Pydantic AI that grades the replies.")
    ] = None,
    show_judge_prompt: Annotated[
        bool, typer.Option("--show-judge-prompt", help="Print what the judge is told, and stop.")
    ] = False,
    ratings: Annotated[
        Path | None,
        typer.Option(help="Print the summary of a file of ratings from the notebook, and stop."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run sessions under several settings, and show what stood in each prompt.

    Ends with status 1 when a model failed in a turn.
    """
    if show_judge_prompt:
        from nousmem.agent.sessions.judge import JUDGE_PROMPT

        typer.echo(JUDGE_PROMPT)
        return
    if ratings is not None:
        _print_ratings(ratings, as_json=as_json)
        return
    if target is None:
        raise SessionError("expected a session file or a folder of them: nousmem session TARGET")
    chosen = _settings(settings or [], preset or [], change or [])
    if out is not None:
        _make(out)  # now rather than after the work
    with_ = {"embedder": embedder, "store": store, "options": _options(option or [])}
    sessions = _read(target, model)
    grader = None if judge is None else _judge(judge, sessions)
    index = len(sessions) > 1 or target.is_dir()
    if out is not None:
        _check_names(sessions, index=index)
    found: dict[str, dict[str, Transcript]] = {}
    for one in sessions:
        found[one.name] = _run(one, model, chosen, **with_)
        if out is not None:  # what is done is kept, whatever becomes of the rest
            _write(one.name, found[one.name], out, index=index)
    if out is not None and index:
        _write_index(found, out)
    grades = [] if grader is None else _grades(found, grader)
    if as_json:
        print_json(_document(found, grades))
    else:
        _print_all(found, grades, out, index=index)
    if any(transcript.failed for one in found.values() for transcript in one.values()):
        raise typer.Exit(1)


def _read(target: Path, model: str) -> list[Session]:
    """Read the sessions; all must be fit for the model before the first one is run."""
    from nousmem.agent.sessions import read_sessions
    from nousmem.agent.sessions.models import open_session_model

    try:
        sessions = read_sessions(target)
        for one in sessions:
            open_session_model(model, one)
    except SessionError as error:  # each fault has a line of its own
        for line in str(error).splitlines():
            typer.echo(f"nousmem: {line}", err=True)
        raise typer.Exit(2) from None
    return sessions


def _judge(name: str, sessions: list[Session]) -> Model:
    """Open the judge, before anything is run that it could not grade."""
    from nousmem.agent.sessions.judge import open_judge

    judge = open_judge(name)
    if not any(turn.answer for one in sessions for turn in one.turns):
        raise SessionError(
            "no turn has an answer, so --judge has nothing to grade by; write answer = in a turn"
        )
    return judge


def _make(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SessionError(f"--out {out}: no such folder can be made: {error.strerror}") from None


def _check_names(sessions: list[Session], *, index: bool) -> None:
    from nousmem.viz.session_index import INDEX

    if index and any(f"{one.name}.html".casefold() == INDEX for one in sessions):
        raise SessionError(
            f"a session may not be named 'index': {INDEX} lists all of them; give it another name"
        )


def _settings(files: list[str], presets: list[str], changes: list[str]) -> dict[str, Settings]:
    """Return each setting by its name: the word, the name of the file, or the preset."""
    made = parse_changes(changes)
    found: dict[str, Settings] = {}
    for one in files or ([] if presets else [DEFAULT]):
        name = one if one == DEFAULT else Path(one).stem
        if name in found:
            raise SessionError(f"two settings are named {name!r}; rename a file")
        found[name] = Settings() if one == DEFAULT else read_settings(Path(one))
    for name in presets:
        if name in found:
            raise SessionError(f"two settings are named {name!r}; name the preset once")
        found[name] = Settings.preset(name)
    return {name: one.replace(**made) for name, one in found.items()}


def _options(given: list[str]) -> dict[str, Any]:
    """Read NAME=VALUE texts, the value as TOML has it."""
    found: dict[str, Any] = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            found[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            raise typer.BadParameter(
                "expected NAME=VALUE, where VALUE is a number, true, false or a quoted text, "
                f"got {text!r}"
            ) from None
    return found


def _run(
    one: Session, model: str, settings: Mapping[str, Settings], **options: Any
) -> dict[str, Transcript]:
    from nousmem.agent.sessions import run_session

    progress = sys.stderr.isatty()
    done = 0

    def after_turn(setting: str, _: Any) -> None:
        nonlocal done
        done += 1
        if progress:
            of = len(one.turns) * len(settings)
            typer.echo(f"\r{one.name}, {setting}: {done} of {of} turns ", err=True, nl=done == of)

    return run_session(one, model=model, settings=settings, after_turn=after_turn, **options)


def _write(name: str, transcripts: Mapping[str, Transcript], out: Path, *, index: bool) -> None:
    from nousmem.agent.sessions import write_transcript
    from nousmem.viz.session_index import INDEX
    from nousmem.viz.session_page import write_session_page

    for setting, transcript in transcripts.items():
        write_transcript(transcript, out / f"{name}.{setting}.jsonl")
    write_session_page(transcripts, out / f"{name}.html", index=INDEX if index else None)


def _write_index(found: Mapping[str, Mapping[str, Transcript]], out: Path) -> None:
    from nousmem.agent.sessions.ratings import RatingFile
    from nousmem.viz.session_index import INDEX, write_session_index

    ratings = RatingFile(out / "ratings.jsonl").read()
    write_session_index(found, out / INDEX, ratings=ratings)


def _print_all(
    found: Mapping[str, Mapping[str, Transcript]],
    grades: list[dict[str, Any]],
    out: Path | None,
    *,
    index: bool,
) -> None:
    for one in found.values():
        _print_session(one)
    if len(found) > 1:
        print_table(_totals(found), title="answer support, all sessions")
    if grades:
        print_table(grades, title="grades by the judge, 0 to 1")
    if out is not None:
        start = f"; begin with {out / 'index.html'}" if index else ""
        typer.echo(f"transcripts and pages are in {out}{start}")


def _print_session(transcripts: Mapping[str, Transcript]) -> None:
    first = next(iter(transcripts.values()))
    rows: list[dict[str, Any]] = []
    for at, turn in enumerate(first.turns):
        named = [*turn.support, *turn.intruders]
        for place, one in enumerate(named):
            row: dict[str, Any] = {
                "date": f"{turn.at:%Y-%m-%d}" if place == 0 else "",
                "turn": _clipped(turn.text) if place == 0 else "",
                "memory": one.wanted,
            }
            for setting, transcript in transcripts.items():
                record = transcript.turns[at]
                row[setting] = _word(record.support, record.intruders, place)
            rows.append(row)
    stand_in = " (a stand-in, no language model)" if first.header.stand_in else ""
    title = f"{first.header.session}: was it in the prompt? Model {first.header.model}{stand_in}"
    print_table(rows, title=title)
    for setting, transcript in transcripts.items():
        found, of = transcript.supported
        kept = f", {transcript.intruders} forbidden" if transcript.intruders else ""
        typer.echo(f"{setting}: {found} of {of} needed memories in the prompt{kept}")
        for turn in transcript.turns:
            if turn.error is not None:
                typer.echo(f"{setting}, turn {turn.turn}: no reply: {turn.error}", err=True)


def _word(support: list[Any], intruders: list[Any], place: int) -> str:
    if place < len(support):
        one = support[place]
        if not one.in_prompt:
            return f"no: {one.why}"
        return "yes" if one.how == "injected" else f"yes, {one.how}"
    return "IN THE PROMPT" if intruders[place - len(support)].in_prompt else "kept out"


def _totals(found: Mapping[str, Mapping[str, Transcript]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name, transcripts in found.items():
        row: dict[str, Any] = {"session": name}
        for setting, one in transcripts.items():
            row["needed"] = one.supported[1]
            row[setting] = one.supported[0]
        for setting, one in transcripts.items():
            row[f"forbidden: {setting}"] = one.intruders
        rows.append(row)
    total = {key: sum(row[key] for row in rows) for key in rows[0] if key != "session"}
    return [*rows, {"session": "all", **total}]


def _grades(found: Mapping[str, Mapping[str, Transcript]], judge: Model) -> list[dict[str, Any]]:
    from nousmem.agent.sessions.judge import judge_transcripts

    rows: list[dict[str, Any]] = []
    for transcripts in found.values():
        rows += frame_records(judge_transcripts(transcripts, model=judge))
    return rows


def _document(
    found: Mapping[str, Mapping[str, Transcript]], grades: list[dict[str, Any]]
) -> dict[str, Any]:
    sessions = [
        {
            "session": name,
            "setting": setting,
            "model": one.header.model,
            "stand_in": one.header.stand_in,
            "embedder": one.header.embedder,
            "settings": one.header.settings,
            "supported": one.supported[0],
            "needed": one.supported[1],
            "forbidden_in_prompt": one.intruders,
            "failed_turns": one.failed,
            "turns": [
                {
                    "turn": turn.turn,
                    "reply": turn.reply,
                    "support": [_support(item) for item in turn.support],
                    "forbidden": [_support(item) for item in turn.intruders],
                    "error": turn.error,
                }
                for turn in one.turns
            ],
        }
        for name, transcripts in found.items()
        for setting, one in transcripts.items()
    ]
    return {"sessions": sessions, "grades": grades}


def _support(one: Any) -> dict[str, Any]:
    return {"memory": one.wanted, "in_prompt": one.in_prompt, "how": one.how, "why": one.why}


def _print_ratings(file: Path, *, as_json: bool) -> None:
    from nousmem.agent.sessions.ratings import RatingFile, summarise_ratings

    if not file.is_file():
        raise SessionError(f"there are no ratings at {file}; rate some turns in a notebook first")
    rows = frame_records(summarise_ratings(RatingFile(file).read()))
    if as_json:
        print_json(rows)
    else:
        print_table(rows, title=f"ratings in {file}")


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"
