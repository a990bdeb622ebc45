from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nousmem.agent._replies import read_reply

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
        f'{{"result": {{"operations": [{ONE}]}}}}',
        f'{{"operations": {ONE}}}',
        f'{{"operations": {{"0": {ONE}}}}}',
        f'{{"operation": {ONE}}}',
        f'{{"thoughts": ["hm", {{"action": "forget", "id": "m1"}}], "operations": [{ONE}]}}',
        f'{{"action": "update_memory", "operations": [{ONE}]}}',
        json.dumps(f'{{"operations": [{ONE}]}}'),
        json.dumps({"operations": f"[{ONE}]"}),
        f'<|channel|>analysis<|message|>{{"action": "forget"}}<|end|><|channel|>final {ONE}',
    ],
)
def test_one_operation_is_read_however_it_is_wrapped(reply: str):
    read = read_reply(reply)
    assert (read.operations, read.problem) == ((WANTED,), None)


@pytest.mark.parametrize(
    "content", ["use ```json fences", "a\n```\nb", 'say "}" and [', "it's {fine}", "C:\\x\\"]
)
def test_content_is_never_taken_for_structure(content: str):
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


@pytest.mark.parametrize(
    "reply",
    ["[]", "```json\n[]\n```", '{"operations": []}', "None: []", {}, '{"operations": null}'],
)
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


OPERATION = st.fixed_dictionaries(
    {"action": st.sampled_from(["remember", "update", "forget"]), "content": st.text()}
)


@given(st.lists(OPERATION), st.sampled_from(["", "Sure! ", "```json\n", "<think>{'</think>"]))
def test_whatever_the_contents_say_the_operations_are_read(given_: list[Any], before: str):
    read = read_reply(before + json.dumps({"operations": given_}))
    assert list(read.operations) == given_


@given(st.text(alphabet="{}[]\"'\\,:a <think/>`") | st.text(), st.randoms(use_true_random=False))
def test_no_reply_raises_and_each_says_what_is_wrong_with_it(junk: str, order: random.Random):
    cut = order.randrange(len(ONE))
    for reply in (junk, ONE[:cut] + junk + ONE[cut:], junk + ONE):
        read = read_reply(reply)
        assert all(isinstance(one, dict) for one in read.operations)
        assert read.operations or read.problem or "[" in reply or "{" in reply


@pytest.mark.parametrize(
    "reply",
    [
        "{" * 50_000,
        "{'" * 25_000,
        f"{ONE[:30]} " * 20_000,
        '{"a":' * 50_000 + "1" + "}" * 50_000,
        "[" * 500_000,
        "<think>" * 50_000,
        "'" * 500_000,
        "{'content': '" + "x" * 900_000 + "'}",
        "word " * 2_000_000,
    ],
)
def test_a_reply_without_end_is_read_in_time(reply: str):
    # By way of the restarts of a scanner, each of these once took minutes.
    read = read_reply(reply)
    assert read.operations == ()
    assert read.problem


def test_a_reply_nested_beyond_reason_is_no_operation():
    value: Any = WANTED
    for _ in range(500):
        value = {"operations": [value]}
    assert read_reply(value).operations == ()
    assert read_reply(value).problem
