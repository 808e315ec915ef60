"""The limits of one file, and compressed bytes unpacked within them."""

import lzma
from time import thread_time
from typing import Any

from seepage.inspection._values import StrangeFileError

# Of an error in the middle, no more than a step is lost.
_STEP = 512
_MOST_BYTES = 160 << 20
# Fitted models of scikit-learn take up to 2 seconds, an array of 80 MB takes 3.
_MOST_SECONDS = 60
_CODECS = {
    b"\x1f\x8b": "gzip",
    **dict.fromkeys((b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"), "gzip"),
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\x00": "lzma",
    b"\x5d\x00\x00": "lzma",
}


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
            raise StrangeFileError(f"not finished after {_MOST_SECONDS} seconds, and nor is what follows")

    def pay(self, count: int) -> None:
        """Pay for decoded bytes, or refuse them."""
        self.check()
        if count > self.bytes_left:
            raise StrangeFileError(f"not finished after {_MOST_BYTES >> 20} MB of decoded values")
        self.bytes_left -= count

    def require(self, count: int) -> None:
        """Refuse bytes that are more than are left, before they are decoded."""
        self.pay(count)
        self.bytes_left += count

    def enter(self) -> None:
        """Pay for an inner file, or refuse it."""
        self.check()
        if self.files_left <= 0:
            raise StrangeFileError("not finished after 10,000 files")
        self.files_left -= 1


def codec_of(data: memoryview) -> str | None:
    """Return how bytes are compressed, by their beginning."""
    head = bytes(data[:6])
    return next((codec for start, codec in _CODECS.items() if head.startswith(start)), None)


def unpacked(data: memoryview, codec: str, budget: Budget) -> tuple[memoryview, str]:
    """Return the unpacked bytes, and the reason if they are not all."""
    content = bytearray()
    try:
        stream = _stream(data, codec)
        while part := stream.read(_STEP):
            budget.pay(len(part))
            content += part
    except StrangeFileError as reason:
        return memoryview(content), str(reason)
    except (EOFError, MemoryError, OSError, ValueError, lzma.LZMAError):
        return memoryview(content), "it is cut off or damaged, or something else follows"
    return memoryview(content), ""


def _stream(data: memoryview, codec: str) -> Any:
    import pyarrow as pa

    source = pa.BufferReader(pa.py_buffer(data))
    return lzma.LZMAFile(source) if codec == "lzma" else pa.CompressedInputStream(source, codec)
