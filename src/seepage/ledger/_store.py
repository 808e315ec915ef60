"""Where the files of a ledger are: each is written once, whole or not at all, and never changed.

A ledger needs one thing of its store: that of two who write the same file only the first does. A folder has that by
hard links, and object stores by conditional writes (If-None-Match), so that an entry is a file of its own and the log
is a listing. Two others were tried and left. A Delta table has the same conditional write underneath, and for 100 MB of
library brings commits that platform jobs optimize, vacuum and restore. SQLite reads 10,000 entries in half of the time
(`python -m benchmarks ledger open 10000`), but is for one machine, is not safe on network drives, and keeps pages that
no seal covers.
"""

import errno
import os
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote

from seepage.errors import InputError, MissingExtraError, StorageError, UnwrittenError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_FULL = (errno.ENOSPC, errno.EDQUOT)
_CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)
_NO_LINKS = (errno.EOPNOTSUPP, errno.EPERM, errno.EMLINK, errno.ENOSYS)


class Store(ABC):
    """Files by their paths below one place."""

    place: str
    """What a user calls it."""

    @abstractmethod
    def create(self, path: str, content: bytes) -> bool:
        """Write a file; return False, and do nothing, if there is one already."""

    @abstractmethod
    def read(self, path: str) -> bytes:
        """Return all bytes of a file; FileNotFoundError if there is none."""

    @abstractmethod
    def names(self, folder: str = "", after: str = "") -> Iterator[str]:
        """Yield the paths of all files below a folder, those that follow another one in order."""

    @abstractmethod
    def delete(self, paths: Sequence[str]) -> None:
        """Delete files that are still there; others may be at it too."""

    @abstractmethod
    def time(self, path: str) -> float:
        """Return when a file was written by the store's clock, in seconds."""


@dataclass(frozen=True)
class FolderStore(Store):
    """A folder of this machine, or of a network drive that has hard links."""

    place: str

    def create(self, path: str, content: bytes) -> bool:
        whole = Path(self.place, path)
        # Beside its place, so that it belongs to the same try if this process is killed.
        staged = whole.with_name(f".{whole.name}.{secrets.token_hex(8)}")
        with self._naming(path):
            new = not whole.parent.is_dir()
            whole.parent.mkdir(parents=True, exist_ok=True)
            try:
                handle = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                    file.flush()
                    # On the disk before anything is drawn.
                    os.fsync(file.fileno())
                first = _linked(staged, whole)
                for folder in (whole.parent, whole.parent.parent)[: 1 + new]:
                    _kept(folder)
                return first
            finally:
                with suppress(OSError):
                    staged.unlink()

    def read(self, path: str) -> bytes:
        try:
            return Path(self.place, path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(path) from None

    def names(self, folder: str = "", after: str = "") -> Iterator[str]:
        top, start = os.path.join(self.place, folder) if folder else self.place, len(self.place) + 1
        found = (f"{inside}/{name}"[start:] for inside, _, names in os.walk(top) for name in names)
        yield from sorted(path for each in found if (path := each.replace(os.sep, "/")) > after)

    def delete(self, paths: Sequence[str]) -> None:
        for path in paths:
            whole = Path(self.place, path)
            with suppress(FileNotFoundError), self._naming(path):
                whole.unlink()
            # Whoever writes there again makes the folder again.
            with suppress(OSError):
                whole.parent.rmdir()

    def time(self, path: str) -> float:
        return Path(self.place, path).stat().st_mtime

    @contextmanager
    def _naming(self, path: str) -> Iterator[None]:
        """Say of what cannot be written why, and what to do."""
        try:
            yield
        except FileNotFoundError:
            raise FileNotFoundError(path) from None
        except OSError as error:
            raise unwritten(f"{self.place}/{path}", error) from error


def unwritten(path: str, error: OSError) -> UnwrittenError:
    """Return why a file cannot be written, and what to do."""
    if error.errno in _FULL:
        return UnwrittenError(path, "no space is left", "Make room")
    if error.errno in _CLOSED:
        return UnwrittenError(path, f"it may not be written to ({error.strerror})", "Ask whoever owns the folder")
    return UnwrittenError(path, str(error.strerror), "See to the drive")


def _kept(folder: Path) -> None:
    """Have the names in a folder on the disk too: an entry without its name would be spent again after a power cut."""
    if os.name == "nt":
        # Windows keeps names with its journal, and opens no folders.
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _linked(staged: Path, whole: Path) -> bool:
    """Give a file the name that it shall have, unless another has it."""
    try:
        os.link(staged, whole)
    except FileExistsError:
        if not whole.is_file():
            raise InputError(f"{whole} is no file, and stands in the place of one. Remove it.") from None
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS or not whole.parent.is_dir():
            raise
        raise InputError(
            f"{whole.parent} is on a drive without hard links ({error.strerror}), on which two could write the same "
            "entry. Keep the ledger on another drive, or in an object store."
        ) from error
    return True


@dataclass(frozen=True)
class RemoteStore(Store):
    """Objects of Amazon S3 and what speaks like it, of Google, or of Azure."""

    place: str
    inner: "ObjectStore"

    def create(self, path: str, content: bytes) -> bool:
        from obstore.exceptions import AlreadyExistsError

        with self._naming(path, writing=True):
            try:
                self.inner.put(path, content, mode="create", use_multipart=False)
            except AlreadyExistsError:
                # The first of two answers may have been lost on its way.
                return self.read(path) == content
        return True

    def read(self, path: str) -> bytes:
        with self._naming(path):
            return bytes(self.inner.get(path).bytes())

    def names(self, folder: str = "", after: str = "") -> Iterator[str]:
        with self._naming(folder):
            for some in self.inner.list(folder or None, offset=after or None):
                yield from (each["path"] for each in some)

    def delete(self, paths: Sequence[str]) -> None:
        if paths:
            with suppress(FileNotFoundError), self._naming(paths[0], writing=True):
                self.inner.delete(list(paths))

    def time(self, path: str) -> float:
        with self._naming(path):
            return self.inner.head(path)["last_modified"].timestamp()

    @contextmanager
    def _naming(self, path: str, *, writing: bool = False) -> Iterator[None]:
        from obstore import exceptions as known

        began, whole = time.monotonic(), f"{self.place}/{path}"
        try:
            yield
        except FileNotFoundError:
            raise FileNotFoundError(path) from None
        except (known.PermissionDeniedError, known.UnauthenticatedError) as error:
            why = f"it may not be {'written to' if writing else 'read'} ({_line(error)})"
            if not writing:
                raise InputError(f"The store gives no permission: {whole}: {why}. Ask whoever owns it.") from error
            raise UnwrittenError(whole, why, "Ask whoever owns the store") from error
        except known.BaseError as error:
            raise StorageError(whole, time.monotonic() - began, _line(error)) from error


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def store_at(place: str | Path, options: Mapping[str, str] | None) -> Store:
    """Return the store of a ledger: a folder, or what a URI names."""
    text = str(place)
    if "://" not in text or text.startswith("file://"):
        return FolderStore(os.path.abspath(unquote(text.removeprefix("file://"))))
    try:
        from obstore.store import from_url
    except ImportError:
        raise MissingExtraError(
            "A ledger reaches object stores with obstore, which is not installed. Install it with: pip install "
            '"seepage[ledger]"'
        ) from None
    uri, _, query = text.partition("?")
    told = dict(parse_qsl(query))
    config = {name.lower(): value for name, value in (options or {}).items()}
    plain = config.pop("aws_allow_http", config.pop("allow_http", "")).lower() == "true"
    if "endpoint_override" in told:
        config.setdefault("aws_endpoint_url", f"{told.get('scheme', 'https')}://{told['endpoint_override']}")
    if "region" in told:
        config.setdefault("aws_region", told["region"])
    client = {"allow_http": plain or told.get("scheme") == "http"}
    try:
        inner = from_url(uri.rstrip("/"), config=config, client_options=client)  # type: ignore[call-overload]
    except Exception as error:
        raise InputError(f"{text!r} names no store that a ledger can be in: {_line(error)}") from error
    return RemoteStore(uri.rstrip("/"), inner)
