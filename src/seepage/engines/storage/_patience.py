"""Stores that fail, cut answers off or keep silent, asked again until they answer.

Each request runs in a thread of its own. One that fails is asked again after a pause that doubles; one that is silent
for much longer than its like is asked again at once, and whoever answers first is heard (Dean and Barroso, 2013, call
that hedging). Every request that is sent this way may be repeated: reading, listing, writing a whole object, deleting.
"""

import errno
import io
import queue
import random
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

import pyarrow as pa
import pyarrow.fs

from seepage._errors import InputError, StorageError

Answer = TypeVar("Answer")

# To learn that a file is not there takes two answers: where each second one is spoiled, three of four attempts fail.
_ATTEMPTS = 32
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0
# How long nobody may answer: at least, at most, before anybody has, and as a multiple of the slowest of late.
_SHORTEST_SILENCE, _LONGEST_SILENCE, _FIRST_SILENCE, _TIMES_SLOWER = 0.15, 10.0, 5.0, 2.5
_REMEMBERED = 32
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


@dataclass(eq=False)
class _Pace:
    """How quickly a kind of request was answered of late, which tells silence from slowness."""

    seconds: deque[float] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    @property
    def silence(self) -> float:
        """How long to wait before asking again."""
        if not self.seconds:
            return _FIRST_SILENCE
        return min(max(_TIMES_SLOWER * max(self.seconds), _SHORTEST_SILENCE), _LONGEST_SILENCE)


_paces: dict[str, _Pace] = {}


def asked(kind: str, path: str, request: Callable[[], Answer]) -> Answer:
    """Return the answer to a request, which is sent again when it fails or nobody answers."""
    start = time.monotonic()
    pace = _paces.setdefault(kind, _Pace())
    answers: queue.SimpleQueue[tuple[float, Answer | None, Exception | None]] = queue.SimpleQueue()
    silence, pause, reason = pace.silence, _FIRST_PAUSE, "it did not answer"
    for _ in range(_ATTEMPTS):
        threading.Thread(target=_answered, args=(request, answers), daemon=True).start()
        try:
            seconds, answer, error = answers.get(timeout=silence)
        except queue.Empty:
            # It may answer yet: the next attempt listens for both. A store that has much to do is not asked more often.
            silence = min(2 * silence, _LONGEST_SILENCE)
            continue
        if error is None:
            pace.seconds.append(seconds)
            return answer  # type: ignore[return-value]
        final = _final(path, error)
        if final is error:
            raise error
        if final is not None:
            raise final from error
        reason = str(error).partition("\n")[0]
        time.sleep(pause * random.uniform(0.5, 1.0))
        pause = min(2 * pause, _LONGEST_PAUSE)
    raise StorageError(path, _ATTEMPTS, time.monotonic() - start, reason)


def _answered(request: Callable[[], Answer], answers: "queue.SimpleQueue[Any]") -> None:
    start = time.monotonic()
    try:
        answer = request()
    except Exception as error:
        answers.put((time.monotonic() - start, None, error))
    else:
        answers.put((time.monotonic() - start, answer, None))


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

    def __post_init__(self) -> None:
        if isinstance(self.inner, pa.fs.S3FileSystem):
            # Two who are patient wait for each other: Amazon's own retries sleep for seconds.
            settings: dict[str, Any] = self.inner.__reduce__()[1][0]
            proxy = settings.pop("proxy_options")
            told = {name: given for name, given in settings.items() if given not in ("", None, -1.0)}
            if proxy["host"]:
                told["proxy_options"] = proxy
            once = pa.fs.AwsStandardS3RetryStrategy(max_attempts=1)
            # Opened late, a small object is sent in one request instead of three.
            self.inner = pa.fs.S3FileSystem(**told | {"allow_delayed_open": True}, retry_strategy=once)

    def __reduce__(self) -> tuple[type, tuple[pa.fs.FileSystem]]:
        return Patience, (self.inner,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Patience) and bool(self.inner.equals(other.inner))

    __hash__ = None  # type: ignore[assignment]

    def get_type_name(self) -> str:
        return str(self.inner.type_name)

    def normalize_path(self, path: str) -> str:
        return str(self.inner.normalize_path(path))

    def get_file_info(self, paths: list[str]) -> list[pa.fs.FileInfo]:
        # One at a time: of many at once, some fail at every attempt.
        return [asked("look", path, partial(self.inner.get_file_info, path)) for path in paths]

    def get_file_info_selector(self, selector: pa.fs.FileSelector) -> list[pa.fs.FileInfo]:
        return asked("list", selector.base_dir, lambda: self.inner.get_file_info(selector))

    def create_dir(self, path: str, recursive: bool) -> None:
        # An object store has no folders, only names with slashes in them.
        if self.inner.type_name not in OBJECT_STORES:
            asked("change", path, lambda: self.inner.create_dir(path, recursive=recursive))

    def delete_dir(self, path: str) -> None:
        self._gone("change", path, lambda: self.inner.delete_dir(path))

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        asked("change", path, lambda: self.inner.delete_dir_contents(path, missing_dir_ok=missing_dir_ok))

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError("Nothing here empties a whole store.")

    def delete_file(self, path: str) -> None:
        self._gone("change", path, lambda: self.inner.delete_file(path))

    def move(self, src: str, dest: str) -> None:
        self._gone("change", src, lambda: self.inner.move(src, dest), dest)

    def copy_file(self, src: str, dest: str) -> None:
        asked("change", src, lambda: self.inner.copy_file(src, dest))

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
        source, size, mark = asked("look", path, lambda: self._opened(path))
        return pa.PythonFile(_Reading(path, source, size), mode="r"), size, mark

    def put(self, path: str, content: pa.Buffer) -> None:
        """Write a whole file: it appears at once, or not at all."""
        kind = f"write 2^{content.size.bit_length()}"
        if self.inner.type_name in OBJECT_STORES:
            asked(kind, path, lambda: _write(self.inner, path, content))
            return
        self.create_dir(path.rpartition("/")[0], recursive=True)
        temporary = f"{path}.{uuid4().hex}.unfinished"
        asked(kind, path, lambda: _write(self.inner, temporary, content))
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

    def _gone(self, kind: str, path: str, request: Callable[[], None], dest: str | None = None) -> None:
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

        asked(kind, path, again)


def _write(filesystem: pa.fs.FileSystem, path: str, content: pa.Buffer) -> None:
    with filesystem.open_output_stream(path) as sink:
        sink.write(content)


@dataclass(eq=False)
class _Reading(io.RawIOBase):
    """A file that is read with patience."""

    path: str
    source: pa.NativeFile
    length: int
    place: int = 0

    def read(self, size: int | None = -1) -> bytes:
        left = max(self.length - self.place, 0)
        size = left if size is None or size < 0 else min(size, left)
        if not size:
            return b""
        # A large piece takes longer than a small one, and is no less welcome.
        found = asked(f"read 2^{size.bit_length()}", self.path, lambda: self._piece(size, self.place))
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
