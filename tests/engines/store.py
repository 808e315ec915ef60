"""An object store on loopback, and a proxy in front of it that behaves as badly as asked."""

import http.client
import http.server
import logging
import multiprocessing
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from random import Random
from typing import Any

import boto3
import pyarrow.fs
from moto.s3.responses import S3Response
from moto.server import ThreadedMotoServer

BUCKET = "bucket"
_NOT_PASSED_ON = {"connection", "content-length", "date", "expect", "server", "transfer-encoding"}


@dataclass
class Faults:
    """Which share of requests fails, has its answer cut off, or hangs, and what came of it.

    Of every 20 requests exactly these shares are spoiled, in an order that is drawn: chance cannot be kind to a run.
    """

    failing: float = 0.0
    cut: float = 0.0
    hanging: float = 0.0
    seconds: float = 60.0
    refusal: tuple[int, str] | None = None
    """The status and code that requests end with which are refused."""
    refuses: Callable[[str, str], bool] = lambda method, path: True
    """Which these are, by method and path."""
    requests: int = 0
    spoiled: int = 0
    chances: Random = field(default_factory=lambda: Random(0))
    coming: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def drawn(self) -> str:
        with self.lock:
            if not self.coming:
                kinds = [name for name in ("failing", "cut", "hanging") for _ in range(round(20 * getattr(self, name)))]
                self.coming = kinds + [""] * (20 - len(kinds))
                self.chances.shuffle(self.coming)
            fault = self.coming.pop()
            self.requests += 1
            self.spoiled += fault != ""
            return fault


_ONE_WRITER, _PUT = threading.Lock(), S3Response._key_response_put


def _put(response: S3Response, *given: Any) -> Any:
    """Look whether an object is there, and write it, as real stores do both: with nobody in between."""
    with _ONE_WRITER:
        return _PUT(response, *given)


S3Response._key_response_put = _put  # type: ignore[method-assign]


@contextmanager
def object_store() -> Iterator[str]:
    """Yield the address of a store with an empty bucket."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        address = "{}:{}".format(*server.get_host_and_port())
        client(address).create_bucket(Bucket=BUCKET)
        yield address
    finally:
        server.stop()


def _serve(line: Connection) -> None:
    with object_store() as address:
        line.send(address)
        line.recv()


@contextmanager
def store_apart() -> Iterator[str]:
    """Yield the address of such a store in a process of its own, which does not wait for whoever works in this one."""
    line, other = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(other,))
    process.start()
    try:
        yield line.recv()
    finally:
        line.send(None)
        process.join()


def client(address: str) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=f"http://{address}",
        region_name="us-east-1",
        aws_access_key_id="someone",
        aws_secret_access_key="secret",
    )


def filesystem(address: str) -> pyarrow.fs.S3FileSystem:
    return pyarrow.fs.S3FileSystem(
        access_key="someone", secret_key="secret", region="us-east-1", scheme="http", endpoint_override=address
    )


@contextmanager
def faulty(address: str, faults: Faults) -> Iterator[str]:
    """Yield the address of a proxy of a store."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def pass_on(self) -> None:
            body = self._body()
            fault = faults.drawn()
            if fault == "failing":
                self._answer(500, [], b"<Error><Code>InternalError</Code><Message>We failed</Message></Error>", True)
                return
            if faults.refusal is not None and faults.refuses(self.command, self.path):
                status, code = faults.refusal
                self._answer(status, [], f"<Error><Code>{code}</Code><Message>No</Message></Error>".encode(), True)
                return
            if fault == "hanging":
                time.sleep(faults.seconds)
                self.close_connection = True
                return
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _NOT_PASSED_ON}
            # Closed before anything is sent on: whoever asked may have hung up since.
            with closing(http.client.HTTPConnection(address)) as inner:
                inner.request(self.command, self.path, body, headers)
                answer = inner.getresponse()
                found = answer.read()
            self._answer(answer.status, answer.getheaders(), found, fault != "cut")

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = pass_on  # noqa: N815

        def _body(self) -> bytes:
            if "chunked" not in (self.headers.get("Transfer-Encoding") or ""):
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found = b""
            while length := int(self.rfile.readline().split(b";")[0], 16):
                found += self.rfile.read(length)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return found

        def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes, whole: bool) -> None:
            self.send_response(status)
            length = next((value for name, value in headers if name.lower() == "content-length"), str(len(body)))
            for name, value in headers:
                if name.lower() not in _NOT_PASSED_ON:
                    self.send_header(name, value)
            self.send_header("Content-Length", length if self.command == "HEAD" else str(len(body)))
            self.end_headers()
            if self.command == "HEAD":
                return
            self.wfile.write(body if whole else body[: len(body) // 2])
            if not whole:
                self.wfile.flush()
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_: object) -> None:
            """Say nothing of clients that hang up."""

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
