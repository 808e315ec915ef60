"""Compressed bytes, unpacked no further than a limit."""

import bz2
import lzma
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from seepage.inspection._standins import StrangeFileError

_STEP = 1 << 20
_LZMA_MEMORY = 128 << 20


@dataclass
class Budget:
    """What one file may still take: bytes that are unpacked, files that lie in it."""

    bytes_left: int = 256 << 20
    files_left: int = 10_000

    def pay(self, count: int) -> None:
        """Pay for some bytes, or refuse them."""
        if count > self.bytes_left:
            raise StrangeFileError("it unpacks to more than 256 MB")
        self.bytes_left -= count

    def enter(self) -> None:
        """Pay for a file, or refuse it."""
        if self.files_left <= 0:
            raise StrangeFileError("more than 10,000 files lie in it")
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
        while not stream.eof:
            if at >= len(data) and getattr(stream, "needs_input", True):
                raise StrangeFileError("it is cut off or damaged")
            given = data[at : at + _STEP]
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
