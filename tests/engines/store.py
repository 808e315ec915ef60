"""An object store on loopback."""

import logging
import multiprocessing
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import boto3
import pyarrow.fs
from moto.s3.responses import S3Response
from moto.server import ThreadedMotoServer

BUCKET = "bucket"


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
