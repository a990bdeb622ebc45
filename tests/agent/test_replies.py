from __future__ import annotations

import pytest

from nousmem.agent.replies import read_reply

ONE = '{"action": "remember", "content": "X", "importance": 0.8}'
WANTED = {"action": "remember", "content": "X", "importance": 0.8}


@pytest.mark.parametrize(
    "reply",
    [
        f"[{ONE}]",
        ONE,
        f'{{"operations": [{ONE}]}}',
        f'{{"memories": [{ONE}]}}',
        f"```json\n[{ONE}]\n```",
        f"```JSON\n[{ONE}]\n```",
        f"```jsonc\n[{ONE}]\n```",
        f"```\n[{ONE}]\n```",
        f"  ```json\n  [{ONE}]\n  ```  ",
        f"```json [{ONE}] ```",
        f"~~~json\n[{ONE}]\n~~~",
        f"```json\n[{ONE}]",
        f"[{ONE}]\n```",
        f"Here you go:\n```json\n[{ONE}]\n```\nDon't worry, that's all.",
        f"Sure! [{ONE}]",
        f"It's one operation, {{so}} to say: {ONE}".replace("{so}", "so"),
        f"\ufeff[{ONE}]",
        f"<think>I could [{{'action': 'forget', 'id': 'm1'}}]</think>\n[{ONE}]",
        f"<THINKING>hm {{</THINKING>[{ONE}]",
        f'still thinking {{"action": "forget"}}</think>[{ONE}]',
        f"[{ONE},]",
        '[{"action": "remember", "content": "X", "importance": 0.8,},]',
        "[{'action': 'remember', 'content': 'X', 'importance': 0.8}]",
        "[{action: 'remember', content: 'X', importance: 0.8}]",
        '[{"action": "remember", // a fact\n "content": "X", "importance": 0.8}]',
        f"{ONE}",
        f"[1, null, [], {ONE}]",
    ],
)
def test_one_operation_is_read_however_it_is_wrapped(reply: str):
    read = read_reply(reply)
    assert (read.operations, read.problem) == ((WANTED,), None)


@pytest.mark.parametrize(
    "content", ["use ```json fences", "a\n```\nb", 'say "}" and [', "it's {fine}", "C:\\x\\"]
)
def test_content_is_never_taken_for_structure(content: str):
    import json

    operation = {"action": "remember", "content": content}
    text = f"Well, here:\n```json\n{json.dumps([operation, operation])}\n```\nDone."
    assert read_reply(text).operations == (operation, operation)


@pytest.mark.parametrize(
    "reply",
    [
        f'[{ONE}, {{"action": "rem',
        f'[{ONE}, {{"action": "remember", "content": "User lives in Par',
        f'{{"operations": [{ONE}, {{"action": "update", "id": "m1"',
        f'```json\n{{"operations": [{ONE},\n{{',
    ],
)
def test_what_was_cut_off_is_left_out_and_said(reply: str):
    read = read_reply(reply)
    assert read.operations == (WANTED,)
    assert "cut off" in (read.problem or "")


@pytest.mark.parametrize("reply", ["[]", "```json\n[]\n```", '{"operations": []}', "None: []", {}])
def test_nothing_to_do_is_no_problem(reply):
    read = read_reply(reply)
    assert (read.operations, read.problem) == ((), None)


@pytest.mark.parametrize(
    "reply",
    ["", "  \n", "null", '"x"', "3", "not json at all", "<think>and then", "}{", "[" * 9999],
)
def test_a_reply_without_operations_is_reported(reply: str):
    read = read_reply(reply)
    assert read.operations == ()
    assert read.problem


def test_two_blocks_are_both_read():
    assert len(read_reply(f"```json\n[{ONE}]\n```\n```json\n[{ONE}]\n```").operations) == 2


def test_the_arguments_of_a_tool_are_read():
    assert read_reply({"operations": [WANTED, 3]}).operations == (WANTED,)
