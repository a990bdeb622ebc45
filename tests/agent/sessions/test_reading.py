from __future__ import annotations

from pathlib import Path

import pytest

from nousmem.agent.sessions import parse_session, read_session, read_sessions, run_session
from nousmem.errors import SessionError

HEAD = """
[[agents]]
id = "assistant"

[[users]]
id = "ada"

[[memories]]
id = "cat"
content = "The cat is called Biscuit"
created_at = 2025-01-01T12:00:00Z
"""
TURN = """
[[turns]]
at = 2025-01-02T12:00:00Z
text = "What is the cat called?"
"""


def faults(text: str) -> list[str]:
    with pytest.raises(SessionError) as raised:
        parse_session(text, source="my.toml")
    return str(raised.value).splitlines()


def test_what_is_not_given_is_filled_in():
    session = parse_session(HEAD + TURN, name="mine")
    assert session.name == "mine"
    (turn,) = session.turns
    assert (turn.id, turn.user_id, turn.agent_id) == ("t1", "ada", "assistant")
    assert session.memories["cat"].agent_id == "assistant"
    assert len(session.sha256) == 64


def test_all_faults_are_reported_together_with_their_lines():
    text = HEAD + TURN.replace("text", "txet") + TURN + 'expects = ["cta"]\nat_ = 1\n'
    found = faults(text + '\n[[memories]]\nid = "dog"\ncontent = "A dog"\nimportance = 2\n')
    assert len(found) == 5
    assert all(line.startswith("my.toml: line ") for line in found)
    told = "\n".join(found)
    assert "my.toml: line 13, turns 1: unknown key 'txet'; did you mean 'text'?" in told
    assert "turns 1: text is missing" in told
    assert "line 17, turns 2: expects: 'cta' is no memory and no fact; did you mean 'cat'?" in told
    assert "line 23, memories 2: created_at must be an instant" in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[turns", "my.toml: not TOML: "),
        ("", "at least one [[agents]] with an id is needed"),
        (HEAD, "at least one [[turns]] is needed"),
        (HEAD + TURN + 'user = "eve"', "user: 'eve' is not among the users"),
        (HEAD + TURN.replace("Z", ""), "at must be an instant with an offset"),
        (HEAD + TURN + "expects = 'cat'", "expects must be a list of texts"),
        (HEAD + TURN + TURN.replace("-02T", "-01T"), "is before the turn above it"),
        (HEAD + TURN + 'id = "a"' + TURN + 'id = "a"', "the id 'a' is taken by another turn"),
        (HEAD + HEAD[HEAD.index("[[mem") :] + TURN, "the id 'cat' is taken by another memory"),
        (HEAD.replace("Biscuit", "\\u0000") + TURN, "content holds a NUL character"),
        (HEAD + TURN + "[[turns.model]]\n", "has either a reply or calls"),
        (
            HEAD + TURN + "[[turns.model]]\ncalls = [{ tool = 'recall', args = { query = 'x' } }]",
            "the last step must have a reply",
        ),
        (
            HEAD + TURN + "[[turns.model]]\ncalls = [{ tool = 'erase' }]",
            "tool must be one of remember, recall, forget",
        ),
        (
            HEAD + TURN + "[[turns.model]]\ncalls = [{ tool = 'forget', args = { id = 'dog' } }]",
            "forget: 'dog' is no memory and no fact",
        ),
        (HEAD + TURN + "[facts.name]\nsays = []", "says must be a list of the words"),
        (HEAD + TURN + "[facts.cat]\nsays = ['x']", "the name 'cat' is taken by a memory"),
        (HEAD + TURN + "[memory]\ninject_limit = -1", "inject_limit must be a whole number"),
        (HEAD + TURN + "[memory]\nuser_id = 'x'", "unknown key 'user_id'"),
        (HEAD + '[[users]]\nid = "ada"' + TURN, "users 2: the id 'ada' is taken by another"),
        (HEAD + '[[agents]]\nid = "assistant"' + TURN, "agents 2: the id 'assistant' is taken"),
        (HEAD + TURN + 'expects = ["cat", "cat"]', "'cat' is named twice in expects and forbids"),
        (HEAD + TURN + 'expects = ["cat"]\nforbids = ["cat"]', "forbids: 'cat' is named twice"),
        (
            HEAD.replace("2025-01-01", "2025-02-01") + TURN + 'expects = ["cat"]',
            "expects: 'cat' is not there yet: it is made at 2025-02-01 12:00",
        ),
        (
            HEAD.replace('"assistant"', '"assistant"\nsearch_scope = "session"') + TURN,
            "conversation is missing: the agent 'assistant' has search_scope 'session'",
        ),
        (
            HEAD + TURN + "[[turns.model]]\ncalls = [{ tool = 'recall', args = { qery = 'x' } }]",
            "unknown key 'qery'; did you mean 'query'?",
        ),
        (HEAD + TURN + "[[turns.model]]\ncalls = [{ tool = 'recall' }]", "query is missing"),
        (HEAD + TURN + "[[turns.operations]]\naction = 'add'", "action must be one of remember"),
        (HEAD + TURN + "[[turns.operations]]\nactoin = 'add'", "did you mean 'action'?"),
        (HEAD + TURN + "[[turns.operations]]\naction = 'update'", "id is missing"),
        ("name = '../up'\n" + HEAD + TURN, "name must be letters, digits"),
        ("agents = 3\n" + HEAD[HEAD.index("[[users") :] + TURN, "agents must be a list of tables"),
    ],
)
def test_each_fault_says_what_and_where(text: str, message: str):
    assert any(message in line for line in faults(text)), faults(text)


def test_a_second_user_has_to_be_chosen():
    two = HEAD + '\n[[users]]\nid = "bo"\n' + TURN
    assert any("user is missing" in line for line in faults(two))


def test_a_folder_is_read_whole(tmp_path: Path):
    (tmp_path / "a.toml").write_text(HEAD + TURN)
    (tmp_path / "b.toml").write_text(HEAD)
    (tmp_path / "c.toml").write_text("x = ")
    with pytest.raises(SessionError) as raised:
        read_sessions(tmp_path)
    lines = str(raised.value).splitlines()
    assert [Path(line.split(":")[0]).name for line in lines] == ["b.toml", "c.toml"]
    (tmp_path / "b.toml").write_text(HEAD + TURN)
    (tmp_path / "c.toml").unlink()
    assert [session.name for session in read_sessions(tmp_path)] == ["a", "b"]
    with pytest.raises(SessionError, match="cannot be read"):
        read_session(tmp_path / "none.toml")


def test_the_example_in_the_readme_is_a_session(written: Path):
    text = (written / "README.md").read_text(encoding="utf-8")
    example = text.split("```toml\n")[1].split("```")[0]
    session = parse_session(example)
    assert len(session.turns) == 2
    found = run_session(
        parse_session(example.split("[[turns]]\nat = 2025-09")[0]), model="scripted"
    )
    assert [one.change for one in found["default"].turns[0].changes] == ["added", "deleted"]


def test_a_fault_is_reported_once():
    assert len(faults("name = 3\n" + HEAD + TURN)) == 1
    assert len(faults(HEAD + TURN + "user = 3")) == 1
    assert len(faults(HEAD + TURN + "[facts.name]\nsays = 'x'")) == 1


def test_the_mark_that_some_editors_put_first_is_no_fault():
    assert parse_session("\ufeff" + HEAD + TURN).turns
