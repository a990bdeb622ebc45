import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nousmem.corpora import reading
from nousmem.corpora.reading import (
    Node,
    read_json,
    read_json_lines,
    read_lines,
    read_text,
    stream_json_array,
)
from nousmem.errors import CorpusError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)

UNREADABLE = [
    (b"", "the file is empty"),
    (b" \n\t ", "the file is empty"),
    ('[{"a": 1}]'.encode("utf-16"), "this is UTF-16"),
    ('[{"a": 1}]'.encode("utf-16-be"), "byte 0 is NUL"),
    (b"\x1f\x8b\x08 rest", "compressed with gzip"),
    (b"PK\x03\x04 rest", "zip archive"),
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "Git LFS pointer"),
    (b"\n<!DOCTYPE html><html></html>", "web page"),
]


@pytest.mark.parametrize(("content", "problem"), UNREADABLE)
@pytest.mark.parametrize(
    "read",
    [
        read_text,
        read_json,
        lambda p: list(read_json_lines(p)),
        lambda p: list(stream_json_array(p)),
    ],
    ids=["text", "json", "lines", "stream"],
)
def test_what_is_no_text_file_is_named(tmp_path: Path, read, content: bytes, problem: str):
    file = tmp_path / "corpus.json"
    file.write_bytes(content)
    with pytest.raises(CorpusError, match=problem) as caught:
        read(file)
    assert str(file) in str(caught.value)


def test_latin_1_is_named_with_byte_and_line(tmp_path: Path):
    file = tmp_path / "corpus.json"
    file.write_bytes(b'[\n"caf\xe9"]')
    with pytest.raises(CorpusError, match=r"byte 6 \(line 2\) is 0xe9, not UTF-8"):
        read_json(file)
    with pytest.raises(CorpusError, match="not all UTF-8"):
        list(stream_json_array(file))


def test_a_byte_order_mark_is_no_fault(tmp_path: Path):
    file = tmp_path / "corpus.json"
    file.write_bytes(b"\xef\xbb\xbf[1, 2]")
    assert read_json(file).value == [1, 2]
    assert [node.value for node in stream_json_array(file)] == [1, 2]


def test_a_folder_in_place_of_a_file(tmp_path: Path):
    with pytest.raises(CorpusError, match="cannot be read"):
        read_text(tmp_path)
    with pytest.raises(CorpusError, match="cannot be read"):
        list(stream_json_array(tmp_path))


def test_lines_keep_unicode_separators(tmp_path: Path):
    file = tmp_path / "lines.txt"
    file.write_bytes("one\u2028still one\r\ntwo\n".encode())
    assert read_lines(file) == ["one\u2028still one", "two"]


def test_broken_json_says_where(tmp_path: Path):
    file = tmp_path / "corpus.json"
    file.write_text('{"a": 1,\n "b" 2}', encoding="utf-8")
    with pytest.raises(CorpusError, match="line 2 column 6: not JSON: Expecting ':'"):
        read_json(file)


@pytest.mark.parametrize("text", ['{"a": [1, 2', '{"a": "unfinis', '{"a":', '{"a": 1'])
def test_json_that_breaks_off_says_so(tmp_path: Path, text: str):
    file = tmp_path / "corpus.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match="breaks off"):
        read_json(file)


def test_a_broken_line_says_which(tmp_path: Path):
    file = tmp_path / "corpus.jsonl"
    file.write_text('{"a": 1}\n\n{"a": 2\n{"a": 3}\n', encoding="utf-8")
    with pytest.raises(CorpusError, match="line 3: not JSON"):
        list(read_json_lines(file))
    file.write_text('{"a": 1}\n{"a"', encoding="utf-8")
    with pytest.raises(CorpusError, match=r"line 2: not JSON.*breaks off"):
        list(read_json_lines(file))


def test_json_nested_too_deeply(tmp_path: Path):
    file = tmp_path / "corpus.json"
    file.write_text("[" * 200_000, encoding="utf-8")
    for read in (read_json, lambda p: list(stream_json_array(p))):
        with pytest.raises(CorpusError, match=r"nested too deeply|breaks off"):
            read(file)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(JSON, max_size=5), chunk=st.integers(1, 40), indent=st.sampled_from([None, 1])
)
def test_streaming_reads_what_json_reads(tmp_path: Path, monkeypatch, values, chunk, indent):
    monkeypatch.setattr(reading, "_CHUNK", chunk)
    file = tmp_path / "corpus.json"
    file.write_text(json.dumps(values, indent=indent, ensure_ascii=False), encoding="utf-8")
    nodes = list(stream_json_array(file))
    assert [node.value for node in nodes] == values
    assert [node.place for node in nodes] == [f"$[{i}]" for i in range(len(values))]


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_a_stream_cut_anywhere_raises(tmp_path: Path, monkeypatch, chunk: int):
    monkeypatch.setattr(reading, "_CHUNK", chunk)
    whole = json.dumps([{"a": [1, "é\n", True]}, {"b": None}, 12], ensure_ascii=False).encode()
    file = tmp_path / "corpus.json"
    for length in range(1, len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(CorpusError, match=r"breaks off|UTF-8"):
            list(stream_json_array(file))


def test_a_damaged_element_is_named(tmp_path: Path):
    file = tmp_path / "corpus.json"
    file.write_text('[1, {"a": oops, "b": "' + "x" * 100 + '"}, 3]', encoding="utf-8")
    with pytest.raises(CorpusError, match=r"at \$\[1\]: not JSON: Expecting value"):
        list(stream_json_array(file))
    file.write_text("[1 2]", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"at \$\[1\]: expected ',' or '\]', got '2'"):
        list(stream_json_array(file))
    file.write_text("[1] trailing", encoding="utf-8")
    with pytest.raises(CorpusError, match="after the end"):
        list(stream_json_array(file))
    file.write_text('{"a": 1}', encoding="utf-8")
    with pytest.raises(CorpusError, match="expected a JSON list"):
        list(stream_json_array(file))


class TestNode:
    node = Node({"a": {"b c": [1, "x", None]}, "n": None}, Path("file.json"))

    def test_places(self):
        items = list(self.node["a"]["b c"].items())
        assert [item.place for item in items] == [f"$.a['b c'][{i}]" for i in range(3)]

    def test_absent_and_null_are_alike(self):
        assert self.node.get("n") is None
        assert self.node.get("absent") is None
        for key in ("n", "absent"):
            with pytest.raises(CorpusError, match=rf"at \$: the field '{key}' is missing or null"):
                self.node[key]

    @pytest.mark.parametrize(
        ("value", "method", "expected"),
        [
            (1, "text", "text, got int 1"),
            (True, "whole", "a whole number, got bool True"),
            ("x" * 99, "whole", r"a whole number, got str 'x+\.\.\."),
            ([], "mapping", r"an object, got list \[\]"),
        ],
    )
    def test_wrong_kind(self, value, method: str, expected: str):
        node = Node(value, Path("file.json"), "$[3]")
        with pytest.raises(CorpusError, match=rf"file.json: at \$\[3\]: expected {expected}"):
            getattr(node, method)()

    def test_an_invalid_entry_names_its_place(self):
        with pytest.raises(CorpusError, match=r"at \$: content must not be blank"):
            self.node.entry(" ")
        with pytest.raises(CorpusError, match="lone surrogate"):
            self.node.entry("\ud800")
