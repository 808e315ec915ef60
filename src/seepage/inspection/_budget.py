"""The limits of one file, and compressed bytes unpacked within them."""

import bz2
import lzma
import zlib
from collections.abc import Iterator
from time import thread_time
from typing import Any

from seepage.inspection._values import StrangeFileError

_STEP = 1 << 20
_SHORT_STEP = 1 << 12
_MOST_BYTES = 256 << 20
# Fitted models of scikit-learn take up to 2 seconds, an array of 80 MB takes 3.
_MOST_SECONDS = 60
_LZMA_MEMORY = 128 << 20


class Budget:
    """Bytes of decoded values, inner files and seconds of computing that one file may still take.

    Seconds are those of this thread: a busy machine changes no verdict.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Begin the next file."""
        self.bytes_left, self.files_left = _MOST_BYTES, 10_000
        self._end = thread_time() + _MOST_SECONDS

    def check(self) -> None:
        """Refuse to continue after the last second."""
        if thread_time() > self._end:
            raise StrangeFileError(f"not finished, {_MOST_SECONDS} seconds are over, and so for all that follows")

    def pay(self, count: int) -> None:
        """Pay for decoded bytes, or refuse them."""
        self.check()
        if count > self.bytes_left:
            raise StrangeFileError("not finished, it holds more than 256 MB of decoded values")
        self.bytes_left -= count

    def require(self, count: int) -> None:
        """Refuse bytes that are more than are left, before they are decoded."""
        self.pay(count)
        self.bytes_left += count

    def enter(self) -> None:
        """Pay for an inner file, or refuse it."""
        self.check()
        if self.files_left <= 0:
            raise StrangeFileError("not finished, it holds more than 10,000 files or streams")
        self.files_left -= 1


def _decompressor(data: memoryview) -> Any:
    head = bytes(data[:6])
    if head[:2] == b"\x1f\x8b" or (head[:1] == b"\x78" and head[1:2] in (b"\x01", b"\x5e", b"\x9c", b"\xda")):
        return zlib.decompressobj(47)
    if head[:3] == b"BZh":
        return bz2.BZ2Decompressor()
    if head == b"\xfd7zXZ\x00" or head[:3] == b"\x5d\x00\x00":
        return lzma.LZMADecompressor(memlimit=_LZMA_MEMORY)
    return None


def is_compressed(data: memoryview) -> bool:
    """Return whether bytes begin as gzip, zlib, bzip2 or xz do."""
    return _decompressor(data) is not None


def unpacked(data: memoryview, budget: Budget) -> tuple[memoryview, str]:
    """Return what is compressed, and why it is not all (or nothing)."""
    found = bytearray()
    try:
        for part in _parts(data, budget):
            found += part
    except (StrangeFileError, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, MemoryError) as reason:
        return memoryview(found), str(reason) if isinstance(reason, StrangeFileError) else "it is cut off or damaged"
    return memoryview(found), ""


def _parts(data: memoryview, budget: Budget) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        stream = _decompressor(data[at:])
        if stream is None:
            if at == 0 or any(data[at : at + _STEP]):
                raise StrangeFileError("something else follows what is compressed")
            return
        budget.enter()
        step = _SHORT_STEP
        while not stream.eof:
            if at >= len(data) and getattr(stream, "needs_input", True):
                raise StrangeFileError("it is cut off or damaged")
            # A stream copies all that follows its end: a short one is given little.
            given, step = data[at : at + step], min(2 * step, _STEP)
            at += len(given)
            # Each call gives a bounded part, whatever the bytes say.
            part = stream.decompress(given, _STEP)
            while part or getattr(stream, "unconsumed_tail", b""):
                budget.pay(len(part))
                yield part
                if stream.eof:
                    break
                part = stream.decompress(getattr(stream, "unconsumed_tail", b""), _STEP)
        at -= len(stream.unused_data)
