"""`nousmem session`, as a user meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nousmem.cli._app import app
from nousmem.errors import NousmemError

TEXT = """
[[agents]]
id = "assistant"
[[users]]
id = "ada"
[[memories]]
id = "bees"
content = "The bees of Ada are in the orchard"
created_at = 2025-01-01T12:00:00Z
[[turns]]
id = "first"
at = 2025-01-01T13:00:00Z
text = "Where are the bees?"
expects = ["bees"]
[[turns]]
id = "second"
at = 2025-08-01T13:00:00Z
text = "Where are the bees now?"
expects = ["bees"]
answer = "In the orchard."
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "bees.toml").write_text(TEXT)
    (tmp_path / "flat.toml").write_text("[scoring]\ndecay_lambda = 0\n")
    return tmp_path


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["session", *arguments])
    return done.exit_code, done.stdout, done.stderr


def test_a_folder_under_two_settings(folder: Path) -> None:
    (folder / "sessions" / "again.toml").write_text(TEXT)
    settings = ("--settings", "default", "--settings", str(folder / "flat.toml"))
    code, told, _ = run(str(folder / "sessions"), *settings, "--out", str(folder / "out"))
    assert code == 0
    assert "bees: was it in the prompt? Model extractive (a stand-in, no language model)" in told
    assert "default: 1 of 2 needed memories in the prompt" in told
    assert "flat: 2 of 2 needed memories in the prompt" in told
    assert "answer support, all sessions" in told
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        *(
            f"{name}{end}"
            for name in ("again", "bees")
            for end in (".default.jsonl", ".flat.jsonl", ".html")
        ),
        "index.html",
    ]
    index = (folder / "out" / "index.html").read_text()
    assert 'href="bees.html"' in index
    assert 'href="index.html"' in (folder / "out" / "bees.html").read_text()
    assert "index.html" in told


def test_json(folder: Path) -> None:
    code, told, _ = run(str(folder / "sessions" / "bees.toml"), "--json")
    (one,) = json.loads(told)["sessions"]
    assert code == 0
    assert (one["setting"], one["stand_in"], one["supported"], one["needed"]) == (
        "default",
        True,
        1,
        2,
    )
    assert one["turns"][0]["support"] == [
        {"memory": "bees", "in_prompt": True, "how": "injected", "why": ""}
    ]


def test_an_option_of_memory_holds_for_every_setting(folder: Path) -> None:
    file = str(folder / "sessions" / "bees.toml")
    assert "default: 2 of 2" in run(file, "--option", "inject_min_score=0")[1]
    assert run(file, "--option", "inject_min_score")[0] == 2


def test_settings_have_their_thresholds_and_legs_with_them(folder: Path) -> None:
    file = str(folder / "sessions" / "bees.toml")
    (folder / "easy.toml").write_text("[injection]\ninject_min_score = 0\n")
    (folder / "strict.toml").write_text("[injection]\ninject_limit = 0\n")
    files = ("--settings", str(folder / "easy.toml"), "--settings", str(folder / "strict.toml"))
    told = run(file, *files)[1]
    assert "easy: 2 of 2" in told
    assert "strict: 0 of 2" in told
    code, told, _ = run(file, *files, "--set", "depth=3", "--set", "inject_limit=1", "--json")
    assert code == 0
    found = {one["setting"]: one["settings"] for one in json.loads(told)["sessions"]}
    assert [one["retrieval"]["depth"] for one in found.values()] == [3, 3]
    assert [one["injection"]["inject_limit"] for one in found.values()] == [1, 1]
    assert [one["injection"]["inject_min_score"] for one in found.values()] == [0, 0.3]


def test_presets_are_settings_too(folder: Path) -> None:
    file = str(folder / "sessions" / "bees.toml")
    told = run(file, "--preset", "recommended")[1]
    assert "recommended: 2 of 2" in told
    assert "default:" not in told
    told = run(file, "--settings", "default", "--preset", "recommended")[1]
    assert "default: 1 of 2" in told
    assert "recommended: 2 of 2" in told
    for wrong in (("--preset", "best"), ("--preset", "documented") * 2):
        done = CliRunner().invoke(app, ["session", file, *wrong])
        assert isinstance(done.exception, NousmemError)


def test_faults_have_a_line_each_and_status_2(folder: Path) -> None:
    file = folder / "sessions" / "bees.toml"
    file.write_text(TEXT.replace("text", "txet"))
    code, told, errors = run(str(file))
    assert (code, told) == (2, "")
    assert len(errors.splitlines()) == 4
    assert all(line.startswith(f"nousmem: {file}: line ") for line in errors.splitlines())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("[scoring]\ndecay = 1", "[scoring] has no parameter 'decay'"),
        ("decay_lambda = 0", "no 'decay_lambda', which stands in [scoring]"),
        ("[scoring", "cannot read the settings"),
    ],
)
def test_user_errors_end_with_status_2(folder: Path, settings: str, message: str) -> None:
    (folder / "flat.toml").write_text(settings)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from nousmem.cli import main; main()",
            "session",
            str(folder / "sessions"),
            "--settings",
            str(folder / "flat.toml"),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "160"},
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr


def test_a_model_that_fails_ends_with_status_1(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pydantic_ai.exceptions import UnexpectedModelBehavior
    from pydantic_ai.models.test import TestModel

    async def fail(*_: object, **__: object) -> None:
        raise UnexpectedModelBehavior("it said nothing")

    monkeypatch.setattr(TestModel, "request", fail)
    code, told, errors = run(str(folder / "sessions"), "--model", "test")
    assert code == 1
    assert "default: 1 of 2 needed memories in the prompt" in told
    assert "default, turn second: no reply: UnexpectedModelBehavior: it said nothing" in errors


def test_a_judge_grades_turns_that_have_an_answer(folder: Path) -> None:
    pytest.importorskip("pydantic_evals")
    code, told, _ = run(str(folder / "sessions"), "--judge", "test", "--json")
    assert code == 0
    (grade,) = json.loads(told)["grades"]
    assert (grade["turn"], grade["error"]) == ("second", "")
    assert 0 <= grade["score"] <= 1


def test_the_judge_prompt_and_ratings_are_printed(folder: Path) -> None:
    assert run("--show-judge-prompt")[1].startswith("You grade one reply")
    file = folder / "ratings.jsonl"
    rating = {"session": "s", "turn": "t", "settings": ["a", "b"], "better": "a"}
    file.write_text(json.dumps({**rating, "rated_at": "2026-03-15T12:00:00Z"}))
    (row,) = json.loads(run("--ratings", str(file), "--json")[1])
    assert (row["a_better"], row["b_better"], row["p"]) == (1, 0, 1.0)
    assert "a_better" in run("--ratings", str(file))[1]


def refusal(*arguments: str) -> str:
    """Return why a command is refused; the program prints it and ends with status 2."""
    done = CliRunner().invoke(app, ["session", *arguments])
    assert isinstance(done.exception, NousmemError), (done.stdout, done.stderr)
    return str(done.exception)


def no_run(*_: object, **__: object) -> None:
    raise AssertionError("a session was run")


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ("opnai:gpt-4o", "the judge 'opnai:gpt-4o' cannot be used: Unknown model"),
        ("extractive", "the judge 'extractive' cannot be used"),
        ("openai:gpt-4o-mini", "OPENAI_API_KEY"),
    ],
)
def test_a_judge_that_cannot_be_asked_is_refused_before_the_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, judge: str, said: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("nousmem.agent.sessions.run_session", no_run)
    assert said in refusal(str(folder / "sessions" / "bees.toml"), "--judge", judge)


def test_a_judge_without_its_package_is_refused_before_the_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nousmem.agent.sessions.run_session", no_run)
    monkeypatch.setitem(sys.modules, "pydantic_evals", None)
    monkeypatch.setitem(sys.modules, "pydantic_evals.evaluators", None)
    assert "nousmem[judge]" in refusal(str(folder / "sessions" / "bees.toml"), "--judge", "test")


def test_a_judge_with_nothing_to_grade_by_is_refused_before_the_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nousmem.agent.sessions.run_session", no_run)
    file = folder / "sessions" / "bees.toml"
    file.write_text(TEXT.replace('answer = "In the orchard."', ""))
    assert "no turn has an answer" in refusal(str(file), "--judge", "test")


def test_what_is_done_is_kept_when_a_later_session_cannot_be_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nousmem.agent import sessions

    whole = sessions.run_session

    def run_one(session: sessions.Session, **options: object) -> object:
        if session.name == "later":
            raise KeyboardInterrupt
        return whole(session, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("nousmem.agent.sessions.run_session", run_one)
    (folder / "sessions" / "later.toml").write_text(TEXT)
    code, _, _ = run(str(folder / "sessions"), "--out", str(folder / "out"))
    assert code != 0
    assert {path.name for path in (folder / "out").iterdir()} == {
        "bees.default.jsonl",
        "bees.html",
    }


def test_a_place_that_cannot_be_written_to_is_refused_before_the_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nousmem.agent.sessions.run_session", no_run)
    file = folder / "sessions" / "bees.toml"
    assert "--out" in refusal(str(file), "--out", str(file))
    (folder / "sessions" / "index.toml").write_text(TEXT)
    assert "'index'" in refusal(str(folder / "sessions"), "--out", str(folder / "out"))
