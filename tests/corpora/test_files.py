import gc
import hashlib
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from nousmem.corpora.files import (
    CHECKSUM_FAULT,
    DataFile,
    checksum,
    checksum_faults,
    combined_checksum,
    find_file,
    present_path,
    published_file,
)
from nousmem.errors import CorpusError, CorpusFileMissing

SHA = hashlib.sha256(b"data").hexdigest()
FILE = DataFile("deep/corpus.json", source="the library round the corner", sha256=SHA)
OTHER = DataFile("other.json", source="elsewhere", derived=True)


def put(folder: Path, name: str, content: bytes = b"data") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_the_data_folder_comes_before_the_cache(tmp_path: Path, cache: Path, monkeypatch):
    cached = put(cache, FILE.path)
    assert find_file("made-up", [FILE]) == cached
    own = put(tmp_path / "own", FILE.path)
    monkeypatch.setenv("NOUSMEM_DATA", str(tmp_path / "own"))
    assert find_file("made-up", [FILE]) == own
    assert present_path(FILE) == own


def test_a_given_path_is_a_file_or_its_folder(tmp_path: Path, cache: Path):
    put(cache, FILE.path)
    anywhere = put(tmp_path, "renamed.json")
    assert find_file("made-up", [FILE], path=anywhere) == anywhere
    flat = put(tmp_path / "flat", FILE.name)
    assert find_file("made-up", [FILE], path=str(tmp_path / "flat")) == flat
    deep = put(tmp_path / "top", FILE.path)
    assert find_file("made-up", [FILE], path=tmp_path / "top") == deep


def test_interchangeable_files_in_order(tmp_path: Path):
    put(tmp_path, OTHER.path)
    assert find_file("made-up", [FILE, OTHER], path=tmp_path).name == "other.json"
    put(tmp_path, FILE.path)
    assert find_file("made-up", [FILE, OTHER], path=tmp_path).name == "corpus.json"


def test_a_folder_may_be_what_is_looked_for(tmp_path: Path, monkeypatch):
    file = DataFile("chats", source="a friend", folder=True)
    (tmp_path / "chats").mkdir()
    assert find_file("made-up", [file], path=tmp_path) == tmp_path / "chats"
    assert find_file("made-up", [file], path=tmp_path / "chats") == tmp_path / "chats"
    monkeypatch.setenv("NOUSMEM_DATA", str(tmp_path))
    assert find_file("made-up", [file]) == tmp_path / "chats"


def test_what_is_missing_says_which_file_to_put_where(tmp_path: Path, cache: Path, monkeypatch):
    with pytest.raises(CorpusFileMissing) as caught:
        find_file("made-up", [OTHER, FILE])
    message = str(caught.value)
    for part in ("'made-up'", SHA, FILE.source, str(cache / FILE.path), "NOUSMEM_DATA", "path="):
        assert part in message
    monkeypatch.setenv("NOUSMEM_DATA", str(tmp_path / "own"))
    with pytest.raises(CorpusFileMissing) as caught:
        find_file("made-up", [FILE])
    assert str(tmp_path / "own" / FILE.path) in str(caught.value)


def test_a_given_path_that_does_not_hold_it(tmp_path: Path):
    with pytest.raises(CorpusFileMissing, match=r"there is no file at .*nowhere"):
        find_file("made-up", [FILE], path=tmp_path / "nowhere")
    with pytest.raises(CorpusFileMissing, match=r"holds no corpus\.json or other\.json"):
        find_file("made-up", [FILE, OTHER], path=tmp_path)


def test_the_published_file_is_asked_for():
    assert published_file([OTHER, FILE]) is FILE
    assert published_file([OTHER]) is OTHER


def test_checksums(tmp_path: Path):
    one, two = put(tmp_path, "one"), put(tmp_path, "two", b"more")
    assert checksum(one) == combined_checksum([one]) == SHA
    assert combined_checksum([one, two]) != combined_checksum([two, one])
    assert checksum_faults(SHA, [FILE]) == {}
    assert checksum_faults("0" * 64, [FILE]) == {CHECKSUM_FAULT: 1}
    assert checksum_faults("0" * 64, [OTHER]) == {}
    with pytest.raises(CorpusError, match="cannot be read"):
        checksum(tmp_path / "absent")


class _Server(BaseHTTPRequestHandler):
    def do_GET(self):
        whole = self.path == "/whole"
        self.send_response(404 if self.path == "/absent" else 200)
        self.end_headers()
        self.wfile.write(b"data" if whole else b"da")

    def log_message(self, *args):
        pass


@pytest.fixture
def address():
    server = HTTPServer(("127.0.0.1", 0), _Server)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


# pooch does not close the answer it refuses; the collector then warns.
leaves_its_socket_open = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)


def remote(url: str) -> DataFile:
    return DataFile(FILE.path, source=FILE.source, sha256=SHA, url=url)


def test_a_download_lands_in_the_cache(address: str, cache: Path):
    pytest.importorskip("pooch")
    assert find_file("made-up", [remote(f"{address}/whole")]) == cache / FILE.path
    assert (cache / FILE.path).read_bytes() == b"data"


@leaves_its_socket_open
def test_half_a_download_is_refused_and_not_kept(address: str, cache: Path):
    pytest.importorskip("pooch")
    with pytest.raises(CorpusError, match=f"is not the published corpus.json .*{SHA}"):
        find_file("made-up", [remote(f"{address}/half")])
    assert [path for path in cache.rglob("*") if path.is_file()] == []
    gc.collect()


@leaves_its_socket_open
def test_a_failed_download_says_what_to_do(address: str, cache: Path):
    pytest.importorskip("pooch")
    with pytest.raises(CorpusFileMissing, match=r"HTTPError.*put it at") as caught:
        find_file("made-up", [remote(f"{address}/absent")])
    assert str(cache / FILE.path) in str(caught.value)
    gc.collect()


def test_downloading_without_its_package(monkeypatch, cache: Path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(CorpusFileMissing, match="needs the package 'pooch'") as caught:
        find_file("made-up", [remote("http://127.0.0.1:9/whole")])
    assert str(cache / FILE.path) in str(caught.value)
