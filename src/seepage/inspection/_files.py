"""Files by what they begin with, whatever they are called: each format into pieces, archives into files."""

import io
import json
import mmap
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from seepage.errors import InputError
from seepage.inspection._bounded import Budget, is_compressed, unpacked
from seepage.inspection._pickle import read_pickle
from seepage.inspection._rds import is_rds, read_rds
from seepage.inspection._standins import Mention, Opaque, Piece, StoredNumbers, StrangeFileError, Unread, Words, shaped
from seepage.inspection._text import BEGINNING, arrow_pieces, decoded, read_text
from seepage.inspection._walk import halves, walk

_DEEPEST = 4
_PICKLES = (".pkl", ".pickle", ".joblib", ".p", ".dill", ".cloudpickle", ".sav", ".model")
_TENSORS = {"F64": "f8", "F32": "f4", "F16": "f2", "BF16": "bfloat16", "I64": "i8", "I32": "i4", "I16": "i2"}
_TENSORS |= {"I8": "i1", "U8": "u1", "BOOL": "?"}
# What is known by its first bytes and not read: compressed inside, or pictures.
_CLOSED = {
    b"\x89HDF": "HDF5",
    b"SQLite f": "SQLite",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"%PDF": "PDF",
    b"\x28\xb5\x2f\xfd": "compressed by zstandard",
    b"\x04\x22\x4d\x18": "compressed by LZ4",
    b"7z\xbc\xaf": "a 7z archive",
    b"ORC": "ORC",
}


def read_path(path: Path) -> Iterator[Piece]:
    """Yield what lies in a file, or in all files of a folder.

    Parameters
    ----------
    path : Path
    """
    if path.is_dir():
        budget = Budget(files_left=100_000)
        for each in sorted(path.rglob("*")):
            if each.is_symlink() or not each.is_file() or ".git" in each.relative_to(path).parts:
                continue
            budget.enter()
            yield from _read_file(each, each.relative_to(path).as_posix())
        return
    if not path.exists():
        raise InputError(f"There is no file {path}: name a file or a folder that is to leave.")
    yield from _read_file(path, path.name)


def _read_file(path: Path, where: str) -> Iterator[Piece]:
    try:
        if not path.stat().st_size:
            return
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            data = memoryview(mapped)
            try:
                yield from read_bytes(data, where, Budget())
            finally:
                # Views of the file may still be held by whoever reads them; then it is closed with them.
                try:
                    data.release()
                except BufferError:
                    return
    except (OSError, ValueError) as reason:
        yield Unread(where, f"it cannot be opened ({type(reason).__name__})")
    except BufferError:
        return


def read_bytes(data: memoryview, where: str, budget: Budget, depth: int = 0) -> Iterator[Piece]:
    """Yield what bytes hold; one that is damaged, too deep or too large is named as not read, and looked at as bytes.

    Parameters
    ----------
    data : memoryview
    where : str
        What the place is called.
    budget : Budget
    depth : int, default=0
        How many archives it lies in.
    """
    if depth > _DEEPEST:
        yield Unread(where, f"more than {_DEEPEST} archives lie in each other")
        yield Opaque(where, data)
        return
    try:
        for piece in _reader(data, where)(data, where, budget, depth):
            if isinstance(piece, Opaque) and piece.data is not data and _begins(piece.data):
                yield from read_bytes(piece.data, piece.where, budget, depth + 1)
            else:
                yield piece
    except StrangeFileError as reason:
        yield Unread(where, str(reason))
        yield Opaque(where, data)
    except (ArithmeticError, LookupError, MemoryError, OSError, RecursionError, TypeError, ValueError) as reason:
        yield Unread(where, f"it is damaged ({type(reason).__name__})")
        yield Opaque(where, data)


_Reader = Callable[[memoryview, str, Budget, int], Iterator[Piece]]


def _begins(data: memoryview) -> bool:
    """Return whether bytes in a pickle begin as a file of their own does."""
    return _is_pickle(data) or is_compressed(data) or bytes(data[:4]) in (b"PK\x03\x04", b"\x93NUM", b"PAR1")


def _is_pickle(data: memoryview) -> bool:
    return len(data) > 2 and data[0] == 0x80 and 2 <= data[1] <= 5


def _reader(data: memoryview, where: str) -> _Reader:
    head, name = bytes(data[:8]), where.lower()
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip
    if _is_pickle(data):
        return _pickle
    if head.startswith(b"\x93NUMPY"):
        return _npy
    if head.startswith(b"PAR1"):
        return _parquet
    if head.startswith(b"ARROW1"):
        return _feather
    if head.startswith(b"<stata_d") or (name.endswith(".dta") and data[0] in range(102, 116)):
        return _stata
    if is_rds(data):
        return lambda data, where, budget, depth: read_rds(data, where)
    if is_compressed(data):
        return _compressed
    if bytes(data[257:262]) == b"ustar":
        return _tar
    if len(data) > 10 and data[8] == ord("{") and int.from_bytes(data[:8], "little") <= len(data) - 8:
        return _safetensors
    for start, words in _CLOSED.items():
        if head.startswith(start):
            return _closed(f"{words} is not read here")
    if name.endswith(_PICKLES) and not read_pickle(data)[2]:
        # Of protocols 0 and 1, which have no first byte of their own.
        return _pickle
    if decoded(data, BEGINNING) is not None:
        return lambda data, where, budget, depth: read_text(data, where)
    return _closed("it is of a format that is not read here")


def _closed(why: str) -> _Reader:
    def read(data: memoryview, where: str, budget: Budget, depth: int) -> Iterator[Piece]:
        yield Unread(where, why)
        yield Opaque(where, data)

    return read


def _compressed(data: memoryview, where: str, budget: Budget, depth: int) -> Iterator[Piece]:
    found, why = unpacked(data, budget)
    if why:
        yield Unread(where, why)
    if len(found):
        yield from read_bytes(found, where, budget, depth + 1)


def _pickle(data: memoryview, where: str, budget: Budget, depth: int) -> Iterator[Piece]:
    at = 0
    while at < len(data):
        found, at, why = read_pickle(data, at)
        yield from walk(found, where)
        if why:
            yield Unread(where, f"as a pickle: {why}")
        if why or (at < len(data) and not _is_pickle(data[at:])):
            break
    if at < len(data):
        yield Opaque(where, data[at:])


def _npy(data: memoryview, where: str, budget: Budget, depth: int) -> Iterator[Piece]:
    from numpy.lib import format as npy

    file = io.BytesIO(data[: 1 << 17])
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = read(file, max_header_size=1 << 16)
    rest = data[file.tell() :]
    if dtype.hasobject:
        yield from _pickle(rest, where, budget, depth)
        return
    found = shaped(rest, dtype, shape, fortran=fortran)
    for name in dtype.names or (None,):
        yield StoredNumbers(where if name is None else f"{where}.{name}", found if name is None else found[name])


def _parquet(data: memoryview, where: str, budget: Budget, depth: int) -> Iterator[Piece]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(pa.BufferReader(pa.py_buffer(data)))
        groups = range(file.metadata.num_row_groups)
        budget.pay(sum(file.metadata.row_group(i).total_byte_size for i in groups))
        yield from arrow_pieces(file.read(), where)
        yield from walk(file.metadata.metadata and list(file.metadata.metadata.values()), f"{where} (metadata)")
    except pa.ArrowException:
        raise StrangeFileError("it is no whole Parquet file") from None


def _feather(data: memoryview, where: str, budget: Budget, depth: int) -> Iterator[Piece]:
    import pyarrow as pa

    try:
        with pa.ipc.open_file(pa.BufferReader(pa.py_buffer(data))) as file:
            for i in range(file.num_record_batches):
                batch = file.get_batch(i)
                budget.pay(batch.nbytes)
                yield from arrow_pieces(pa.Table.from_batches([batch]), where)
    except pa.ArrowException:
        raise StrangeFileError("it is no whole Arrow file") from None


def _stata(data: memoryview, where: str, budget: Budget, depth: int) -> Iterator[Piece]:
    try:
        import pandas as pd
    except ImportError:
        raise StrangeFileError(
            "Stata's files are read with pandas, which is not installed: pip install pandas"
        ) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = pd.read_stata(io.BytesIO(data), convert_categoricals=False, convert_dates=False)
    except Exception:
        # Readers of others raise whatever happens to them.
        raise StrangeFileError("it is no whole file of Stata") from None
    for name in frame.columns:
        column = frame[name].to_numpy()
        if column.dtype.kind in "biuf":
            yield StoredNumbers(f"{where}.{name}", column)
        else:
            yield Words(f"{where}.{name}", [str(each) for each in column])


def _safetensors(data: memoryview, where: str, budget: Budget, depth: int) -> Iterator[Piece]:
    size = int.from_bytes(data[:8], "little")
    said = json.loads(bytes(data[8 : 8 + min(size, 1 << 24)]))
    rest = data[8 + size :]
    for name, each in said.items():
        if name == "__metadata__":
            yield from walk(each, f"{where} (metadata)")
            continue
        code = _TENSORS.get(each["dtype"])
        if code is None:
            yield Unread(f"{where}.{name}", f"a tensor of {str(each['dtype'])[:20]} is not read here")
            continue
        start, stop = each["data_offsets"]
        found = shaped(rest[start:stop], np.dtype("u2" if code == "bfloat16" else code), each["shape"])
        yield StoredNumbers(f"{where}.{name}", halves(found) if code == "bfloat16" else found)


def _tar(data: memoryview, where: str, budget: Budget, depth: int) -> Iterator[Piece]:
    try:
        with tarfile.open(fileobj=_File(data)) as archive:
            for member in archive:
                budget.enter()
                if member.isfile() and member.sparse is None:
                    start = member.offset_data
                    yield from read_bytes(
                        data[start : start + member.size], f"{where}/{member.name}", budget, depth + 1
                    )
    except tarfile.TarError:
        raise StrangeFileError("it is no whole archive") from None


def _zip(data: memoryview, where: str, budget: Budget, depth: int) -> Iterator[Piece]:
    try:
        with zipfile.ZipFile(_File(data)) as archive:
            yield from _members(archive, data, where, budget, depth)
    except (zipfile.BadZipFile, NotImplementedError, EOFError):
        raise StrangeFileError("it is no whole archive") from None


def _members(archive: zipfile.ZipFile, data: memoryview, where: str, budget: Budget, depth: int) -> Iterator[Piece]:
    members = [each for each in archive.infolist() if not each.is_dir()]
    pickled = next((each for each in members if each.filename.endswith("data.pkl")), None)
    storages: dict[str, memoryview] = {}
    if pickled is not None:
        # A file of torch: a pickle that says what the bytes beside it are.
        folder = pickled.filename.removesuffix("data.pkl")
        for each in members:
            if each.filename.startswith(f"{folder}data/"):
                budget.enter()
                storages[each.filename.removeprefix(f"{folder}data/")] = _member(archive, each, data, budget)
        found, _, why = read_pickle(_member(archive, pickled, data, budget))
        if why:
            yield Unread(where, f"as a pickle: {why}")
            yield from (Opaque(f"{where}/{name}", each) for name, each in storages.items())
        yield Mention(where, "a file of torch")
        yield from walk(found, where, storages)
        members = [each for each in members if not each.filename.startswith(folder)]
    for each in members:
        budget.enter()
        place = f"{where}/{each.filename}"
        if each.flag_bits & 1:
            yield Unread(place, "it is encrypted")
            continue
        try:
            inner = _member(archive, each, data, budget)
        except (zipfile.BadZipFile, StrangeFileError, NotImplementedError, EOFError, OSError, ValueError) as reason:
            yield Unread(place, str(reason) if isinstance(reason, StrangeFileError) else "it is damaged")
            continue
        except Exception as reason:
            # zlib and lzma have errors of their own.
            yield Unread(place, f"it is damaged ({type(reason).__name__})")
            continue
        if len(inner):
            yield from read_bytes(inner, place, budget, depth + 1)


def _member(archive: zipfile.ZipFile, each: zipfile.ZipInfo, data: memoryview, budget: Budget) -> memoryview:
    if each.compress_type == zipfile.ZIP_STORED:
        # A part of the file, taken without a copy.
        start = each.header_offset + 30 + sum(_two(data, each.header_offset + at) for at in (26, 28))
        return data[start : start + each.compress_size]
    budget.pay(min(each.file_size, 1 << 62))
    with archive.open(each) as file:
        found = file.read(each.file_size + 1)
    return memoryview(found)


def _two(data: memoryview, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "little")


class _File(io.RawIOBase):
    """Bytes as a file, without a copy of them."""

    def __init__(self, data: memoryview) -> None:
        self._data, self._at = data, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        place = offset + (0, self._at, len(self._data))[whence]
        if place < 0:
            raise OSError("a place before the file")
        self._at = place
        return place

    def readinto(self, buffer: Any) -> int:
        part = self._data[self._at : self._at + len(buffer)]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)
