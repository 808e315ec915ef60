"""Stores that fail, cut answers off or keep silent, asked again until they answer.

Amazon's client repeats its own requests, also one that is cut off or silent for some seconds. It doubles its pauses
without end, so that it can wait for half a minute or for hours and for nothing in between, and other file systems
(HDFS, those of fsspec) may not repeat anything. So whatever is asked is asked again here, after pauses that stay short:
reading, listing, writing a whole object, deleting may all be repeated.
"""

import errno
import io
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

import pyarrow as pa
import pyarrow.fs

from seepage.errors import InputError, StorageError

Answer = TypeVar("Answer")

# How often a request is sent, and how many of these times by Amazon's client itself, which then sleeps for six seconds.
_ATTEMPTS, _AMAZONS = 32, 8
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0
_PASSING = {
    getattr(errno, name)
    for name in (
        *("EIO", "EAGAIN", "EINTR", "EPIPE", "ESTALE", "ETIMEDOUT", "EREMOTEIO", "ECONNABORTED", "ECONNREFUSED"),
        *("ECONNRESET", "EHOSTUNREACH", "ENETDOWN", "ENETRESET", "ENETUNREACH"),
    )
    if hasattr(errno, name)
}
# What a store refuses it will refuse again. Too many requests (429) and a late one (408) are not refused for good.
# Asked for a file's size, stores send a status without a word: 400 may be about a token or about a region.
_MISSING = re.compile(r"HTTP status 404|NO_SUCH_BUCKET|NO_SUCH_KEY|ResourceNotFound")
_REFUSED = {
    re.compile(r"HTTP status 40[13]|ACCESS_DENIED"): "gives no permission for",
    re.compile(
        r"HTTP status 400|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|UNRECOGNIZED_CLIENT|REQUEST_TIME_TOO_SKEWED|"
        r"(?i:(invalid|expired)_?token)"
    ): "does not accept the credentials, or the region, for",
    re.compile(r"HTTP status 3\d\d"): "is not where its region or endpoint says, for",
    re.compile(r"HTTP status 4(?!08|29)\d\d"): "refuses",
}
# Of these a whole object appears at once, or not at all.
OBJECT_STORES = ("s3", "gcs", "abfs")


def patient(filesystem: pa.fs.FileSystem) -> pa.fs.FileSystem:
    """Return a file system that asks again where this one fails; this machine's own needs no patience."""
    if isinstance(filesystem, pa.fs.LocalFileSystem) or patience_of(filesystem) is not None:
        return filesystem
    return pa.fs.PyFileSystem(Patience(filesystem))


def patience_of(filesystem: pa.fs.FileSystem) -> "Patience | None":
    """Return what makes a file system patient, if it is."""
    handler = filesystem.handler if isinstance(filesystem, pa.fs.PyFileSystem) else None
    return handler if isinstance(handler, Patience) else None


def asked(path: str, request: Callable[[], Answer], *, sends: int = 1) -> Answer:
    """Return the answer to a request, which is made again when it fails; each sends the same so many times."""
    start, pause = time.monotonic(), _FIRST_PAUSE
    for left in reversed(range(_ATTEMPTS // sends)):
        try:
            return request()
        except Exception as error:
            final = _final(path, error)
            if final is error:
                raise
            if final is None and not left:
                reason = str(error).partition("\n")[0]
                final = StorageError(path, _ATTEMPTS, time.monotonic() - start, reason)
            if final is not None:
                raise final from error
        time.sleep(pause * random.uniform(0.5, 1.0))
        pause = min(2 * pause, _LONGEST_PAUSE)
    raise AssertionError("The last attempt returns or raises.")


def _final(path: str, error: Exception) -> Exception | None:
    """Return what to raise of an error that will not be gone when the same is asked again; None if it may be."""
    if not isinstance(error, OSError) or isinstance(error, FileNotFoundError | IsADirectoryError):
        return error
    if isinstance(error, PermissionError):
        return refused(path, error)
    if error.errno is not None and error.errno not in _PASSING:
        return error
    if _MISSING.search(str(error)):
        return FileNotFoundError(str(error))
    told = next((what for pattern, what in _REFUSED.items() if pattern.search(str(error))), None)
    return None if told is None else refused(path, error, told)


def refused(path: str, error: OSError, what: str = "gives no permission for") -> InputError:
    """Return that somebody may not read or write a file, which nobody should take for damage."""
    reason = str(error).partition("\n")[0]
    return InputError(
        f"The store {what} {path} ({reason}). Nothing is known to be wrong with the file: ask its owner for the right "
        "to it, or pass credentials that are in force and the region that it is in; then run the job again, with "
        "resume=True if it has an output."
    )


@dataclass(eq=False)
class Patience(pa.fs.FileSystemHandler):  # type: ignore[misc]
    """A file system that asks another one until it answers."""

    inner: pa.fs.FileSystem
    sends: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        if isinstance(self.inner, pa.fs.S3FileSystem):
            settings: dict[str, Any] = self.inner.__reduce__()[1][0]
            proxy = settings.pop("proxy_options")
            told = {name: given for name, given in settings.items() if given not in ("", None, -1.0)}
            if proxy["host"]:
                told["proxy_options"] = proxy
            # The standard strategy stops for good once a client has made some hundred attempts too many.
            retries = pa.fs.AwsDefaultS3RetryStrategy(max_attempts=_AMAZONS)
            # Opened late, a small object is sent in one request instead of three.
            self.inner = pa.fs.S3FileSystem(**told | {"allow_delayed_open": True}, retry_strategy=retries)
            self.sends = _AMAZONS

    def __reduce__(self) -> tuple[type, tuple[pa.fs.FileSystem]]:
        return Patience, (self.inner,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Patience) and bool(self.inner.equals(other.inner))

    __hash__ = None  # type: ignore[assignment]

    def get_type_name(self) -> str:
        return str(self.inner.type_name)

    def asked(self, path: str, request: Callable[[], Answer]) -> Answer:
        """Return the answer of the other to a request."""
        return asked(path, request, sends=self.sends)

    def normalize_path(self, path: str) -> str:
        return str(self.inner.normalize_path(path))

    def get_file_info(self, paths: list[str]) -> list[pa.fs.FileInfo]:
        # One at a time: of many at once, some fail at every attempt.
        return [self.asked(path, partial(self.inner.get_file_info, path)) for path in paths]

    def get_file_info_selector(self, selector: pa.fs.FileSelector) -> list[pa.fs.FileInfo]:
        return self.asked(selector.base_dir, lambda: self.inner.get_file_info(selector))

    def create_dir(self, path: str, recursive: bool) -> None:
        # An object store has no folders, only names with slashes in them.
        if self.inner.type_name not in OBJECT_STORES:
            self.asked(path, lambda: self.inner.create_dir(path, recursive=recursive))

    def delete_dir(self, path: str) -> None:
        self._gone(path, lambda: self.inner.delete_dir(path))

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        self.asked(path, lambda: self.inner.delete_dir_contents(path, missing_dir_ok=missing_dir_ok))

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError("Nothing here empties a whole store.")

    def delete_file(self, path: str) -> None:
        self._gone(path, lambda: self.inner.delete_file(path))

    def move(self, src: str, dest: str) -> None:
        self._gone(src, lambda: self.inner.move(src, dest), dest)

    def copy_file(self, src: str, dest: str) -> None:
        self.asked(src, lambda: self.inner.copy_file(src, dest))

    def open_input_file(self, path: str) -> pa.NativeFile:
        return self.open_known(path)[0]

    def open_input_stream(self, path: str) -> pa.NativeFile:
        return self.open_known(path)[0]

    def open_output_stream(self, path: str, metadata: object) -> pa.NativeFile:
        return pa.PythonFile(_Writing(self, path), mode="w")

    def open_append_stream(self, path: str, metadata: object) -> pa.NativeFile:
        raise NotImplementedError("Files are written whole.")

    def open_known(self, path: str) -> tuple[pa.NativeFile, int, str]:
        """Open a file; return its size, and what tells its content from any other: a version, an ETag or a time."""
        source, size, mark = self.asked(path, lambda: self._opened(path))
        return pa.PythonFile(_Reading(self, path, source, size), mode="r"), size, mark

    def put(self, path: str, content: pa.Buffer) -> None:
        """Write a whole file: it appears at once, or not at all."""
        if self.inner.type_name in OBJECT_STORES:
            self.asked(path, lambda: _write(self.inner, path, content))
            return
        self.create_dir(path.rpartition("/")[0], recursive=True)
        temporary = f"{path}.{uuid4().hex}.unfinished"
        self.asked(path, lambda: _write(self.inner, temporary, content))
        self.move(temporary, path)

    def _opened(self, path: str) -> tuple[pa.NativeFile, int, str]:
        source = self.inner.open_input_file(path)
        known = {name.lower(): value.decode() for name, value in source.metadata().items()}
        # Where versions are not kept any more, all new ones are called null.
        told = [known[name] for name in ("versionid", "etag") if known.get(name)]
        return source, source.size(), " ".join(told) or self._mark(path)

    def _mark(self, path: str) -> str:
        handler = self.inner.handler if isinstance(self.inner, pa.fs.PyFileSystem) else None
        if isinstance(handler, pa.fs.FSSpecHandler):
            # What it listed a while ago is not what is there now.
            handler.fs.invalidate_cache(path.rpartition("/")[0])
            told = {str(name).lower(): value for name, value in handler.fs.info(path).items()}
            for name in ("versionid", "version_id", "generation", "etag", "mtime", "lastmodified", "last_modified"):
                if told.get(name) is not None:
                    return str(told[name])
        return str(self.inner.get_file_info(path).mtime_ns)

    def _gone(self, path: str, request: Callable[[], None], dest: str | None = None) -> None:
        """Ask for something to be taken away; when it is gone at the second try, the first did it unheard."""
        tries = 0

        def again() -> None:
            nonlocal tries
            tries += 1
            try:
                request()
            except FileNotFoundError:
                if tries == 1 or (dest and self.inner.get_file_info(dest).type == pa.fs.FileType.NotFound):
                    raise

        self.asked(path, again)


def _write(filesystem: pa.fs.FileSystem, path: str, content: pa.Buffer) -> None:
    with filesystem.open_output_stream(path) as sink:
        sink.write(content)


@dataclass(eq=False)
class _Reading(io.RawIOBase):
    """A file that is read with patience."""

    store: Patience
    path: str
    source: pa.NativeFile
    length: int
    place: int = 0

    def read(self, size: int | None = -1) -> bytes:
        left = max(self.length - self.place, 0)
        size = left if size is None or size < 0 else min(size, left)
        if not size:
            return b""
        found = self.store.asked(self.path, lambda: self._piece(size, self.place))
        self.place += size
        return found

    def _piece(self, size: int, place: int) -> bytes:
        found = bytes(self.source.read_at(size, place))
        if len(found) != size:
            raise OSError(f"it sent {len(found)} of {size} bytes")
        return found

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.place, io.SEEK_END: self.length}[whence]
        return self.place

    def tell(self) -> int:
        return self.place

    def size(self) -> int:
        return self.length

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


@dataclass(eq=False)
class _Writing(io.RawIOBase):
    """A file that is sent when it is whole."""

    store: Patience
    path: str
    content: pa.BufferOutputStream = field(default_factory=pa.BufferOutputStream)

    def write(self, data: Any) -> int:
        self.content.write(data)
        return len(data)

    def tell(self) -> int:
        return int(self.content.tell())

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            super().close()
            self.store.put(self.path, self.content.getvalue())
