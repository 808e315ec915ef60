"""Files by what they begin with, whatever they are called: each format into pieces, archives into files."""

import io
import json
import mmap
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from seepage.errors import InputError
from seepage.inspection._budget import Budget, codec_of, unpacked
from seepage.inspection._gather import Storages, gather, typed
from seepage.inspection._pickle import read_pickle
from seepage.inspection._rds import is_rds, read_rds
from seepage.inspection._tables import (
    read_feather,
    read_hdf5,
    read_orc,
    read_parquet,
    read_sqlite,
    read_with_pandas,
)
from seepage.inspection._text import blocks_of, encoding_of, read_text, read_words
from seepage.inspection._values import Inner, Mention, Piece, StoredNumbers, StrangeFileError, Unread, Words, shaped

_DEEPEST = 4
# Bytes of a member's two headers, with what aligns it, besides its name.
_HEADERS = 256
_PICKLES = (".pkl", ".pickle", ".joblib", ".p", ".dill", ".cloudpickle", ".sav", ".model")
_TENSORS = {"F64": "f8", "F32": "f4", "F16": "f2", "BF16": "bfloat16", "I64": "i8", "I32": "i4", "I16": "i2"}
_TENSORS |= {"I8": "i1", "U8": "u1", "BOOL": "?"}
_CHUNK = 100_000
# Types of numbers without a header; few random bytes are usual numbers of these.
_PLAIN = ("<f8", ">f8", "<f4", ">f4", "<i8", ">i8", "<i4", ">i4")
_FEWEST_NUMBERS = 20
_BEGINNING = 1 << 16
# Known by their first bytes, and not read.
_NOT_READ = {
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"%PDF": "PDF",
    b"7z\xbc\xaf": "a 7z archive",
    b"$FL": "a file of SPSS",
}

_Reader = Callable[[memoryview, str, Budget], Iterator[Piece]]


def read_path(path: Path, budget: Budget) -> Iterator[Iterator[Piece]]:
    """Yield the pieces of a file, or of each file of a folder.

    Parameters
    ----------
    path : Path
    budget : Budget
        Renewed for each file.
    """
    if path.is_dir():
        inner = sorted(path.rglob("*"))
        yield (Words(f"{path.name} (names of files)", [each.name]) for each in inner)
        for each in inner:
            where = each.relative_to(path)
            if ".git" in where.parts or each.is_symlink():
                yield iter([Unread(where.as_posix(), "links, and the history of a repository, are not followed")])
            elif not each.is_dir():
                yield _read_file(each, where.as_posix(), budget)
        return
    if not path.exists() and not path.is_symlink():
        raise InputError(f"There is no file {path}: name a file or a folder that is to leave.")
    yield _read_file(path, path.name, budget)


def _read_file(path: Path, where: str, budget: Budget) -> Iterator[Piece]:
    budget.renew()
    try:
        if not path.is_file():
            yield Unread(where, "it is a pipe, a device or a link to nothing")
            return
        if not path.stat().st_size:
            return
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            data = memoryview(mapped)
            try:
                yield from read_bytes(data, where, budget)
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
        The name of the place.
    budget : Budget
    depth : int, default=0
        How many archives it lies in.
    """
    place = where
    try:
        if depth > _DEEPEST:
            raise StrangeFileError(f"more than {_DEEPEST} archives lie in each other")
        for piece in _with_texts(_reader(data, where, budget)(data, where, budget)):
            place = piece.where
            budget.check()
            if isinstance(piece, Inner):
                if len(piece.data):
                    yield from read_bytes(piece.data, place, budget, depth + 1)
            else:
                yield piece
    except StrangeFileError as reason:
        yield Unread(place, str(reason), data)
    except (ArithmeticError, LookupError, MemoryError, OSError, RecursionError, TypeError, ValueError) as reason:
        yield Unread(where, f"it is damaged ({type(reason).__name__})", data)


def _with_texts(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Yield pieces, and after texts the numbers and encoded bytes in them."""
    for piece in pieces:
        if isinstance(piece, StoredNumbers) and piece.array.dtype.kind in "US":
            texts = piece.array.reshape(-1).tolist()
            piece = Words(
                piece.where, [str(each, "utf-8", "replace") if isinstance(each, bytes) else each for each in texts]
            )
        if isinstance(piece, Words):
            for block in blocks_of(piece):
                yield block
                yield from read_words(block)
        else:
            yield piece


def _is_pickle(data: memoryview) -> bool:
    return len(data) > 2 and data[0] == 0x80 and 2 <= data[1] <= 5


def _reader(data: memoryview, where: str, budget: Budget) -> _Reader:
    head, name = bytes(data[:16]), where.lower()
    if _is_pickle(data):
        return _pickle
    if reader := next((reader for start, reader in _READERS.items() if head.startswith(start)), None):
        return reader
    if name.endswith(".dta") and data[0] in range(102, 116):
        return _STATA
    if is_rds(data):
        return read_rds
    if codec_of(data):
        return _compressed
    if bytes(data[257:262]) == b"ustar":
        return _tar
    if len(data) > 10 and data[8] == ord("{") and int.from_bytes(data[:8], "little") <= len(data) - 8:
        return _safetensors
    if words := next((words for start, words in _NOT_READ.items() if head.startswith(start)), None):
        raise StrangeFileError(f"{words} is not read here")
    if (name.endswith(_PICKLES) or data[-1] == ord(".")) and not read_pickle(data, budget)[2]:
        # Of protocols 0 and 1, which have no first byte of their own.
        return _pickle
    if encoding_of(data) is not None:
        return read_text
    if _plain_type(data) is not None:
        return _plain
    raise StrangeFileError("it is of a format that is not read here")


def _plain_type(data: memoryview) -> str | None:
    """Return the type of numbers that bytes seem to be from their first to their last."""
    for form in _PLAIN:
        values = np.frombuffer(data[: _BEGINNING * 8], form, len(data[: _BEGINNING * 8]) // int(form[2]))
        if len(values) < _FEWEST_NUMBERS or len(data) % int(form[2]):
            continue
        with np.errstate(invalid="ignore"):
            size = np.abs(values.astype(np.float64))
        # Small whole numbers may be letters, and large ones pairs of letters.
        is_whole = form[1] == "i"
        usual = (size == 0) | ((size > 1e-9) & (size < (1e6 if is_whole else 1e9))) | np.isnan(size)
        if usual.mean() > 0.99 and len(np.unique(values)) > 1 and (not is_whole or size.max() > 127):
            return form
    return None


def _plain(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    yield StoredNumbers(where, np.frombuffer(data, _plain_type(data)))


def _compressed(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    content, reason = unpacked(data, codec_of(data) or "", budget)
    if reason:
        yield Unread(where, reason)
    if len(content):
        yield Inner(where, content)


def _pickle(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    at = 0
    while at < len(data):
        budget.enter()
        found, at, why = read_pickle(data, budget, at)
        yield from gather(found, where, budget)
        if why:
            yield Unread(where, f"as a pickle: {why}")
        if why or (at < len(data) and not _is_pickle(data[at:])):
            break
    if at < len(data):
        yield Inner(f"{where} (after the pickle)", data[at:])


def _npy(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    from numpy.lib import format as npy

    file = io.BytesIO(data[: 1 << 17])
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = read(file, max_header_size=1 << 16)
    rest = data[file.tell() :]
    if dtype.hasobject:
        yield from _pickle(rest, where, budget)
        return
    found = shaped(rest, dtype, shape, fortran=fortran)
    for name in dtype.names or (None,):
        yield StoredNumbers(where if name is None else f"{where}.{name}", found if name is None else found[name])
    yield Inner(f"{where} (after the array)", rest[found.nbytes :])


def _safetensors(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    size = int.from_bytes(data[:8], "little")
    said = json.loads(bytes(data[8 : 8 + min(size, 1 << 24)]))
    rest = data[8 + size :]
    ends = [each["data_offsets"] for name, each in said.items() if name != "__metadata__"]
    if sum(stop - start for start, stop in ends) != len(rest):
        raise StrangeFileError("its tensors overlap, or leave gaps")
    for name, each in said.items():
        if name == "__metadata__":
            yield from gather(each, f"{where} (metadata)", budget)
            continue
        code = _TENSORS.get(each["dtype"])
        if code is None:
            yield Unread(f"{where}.{name}", f"a tensor of {str(each['dtype'])[:20]} is not read here")
            continue
        start, stop = each["data_offsets"]
        numbers, shape = typed(rest[start:stop], code), each["shape"]
        yield StoredNumbers(f"{where}.{name}", shaped(numbers.tobytes(), numbers.dtype, shape))


def _tar(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    try:
        with tarfile.open(fileobj=_file(data)) as archive:
            for member in archive:
                budget.enter()
                place, start = f"{where}/{member.name}", member.offset_data
                yield Words(place, [member.name, member.linkname, *member.pax_headers.values()])
                if member.isfile() and member.sparse is None:
                    yield Inner(place, data[start : start + member.size])
                elif not member.isdir():
                    yield Unread(place, "a link, or a file with holes")
            if np.any(np.frombuffer(data[archive.offset :], np.uint8)):
                yield Unread(where, "bytes after the members of an archive", data[archive.offset :])
    except tarfile.TarError:
        raise StrangeFileError("it is no whole archive") from None


def _zip(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    try:
        with zipfile.ZipFile(_file(data)) as archive:
            yield from _members(archive, data, where, budget)
    except (zipfile.BadZipFile, NotImplementedError, EOFError):
        raise StrangeFileError("it is no whole archive") from None


def _members(archive: zipfile.ZipFile, data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    outside = len(data) - sum(each.compress_size for each in archive.infolist())
    if outside < 0:
        raise StrangeFileError("its members overlap")
    if outside > sum(_HEADERS + 2 * len(each.filename.encode()) for each in archive.infolist()) + _HEADERS:
        yield Unread(where, "bytes outside the members of an archive, such as a comment")
    for each in archive.infolist():
        yield Words(f"{where}/{each.filename}", [each.filename, str(each.comment, "utf-8", "replace")])
    members = [each for each in archive.infolist() if not each.is_dir()]
    pickled = next((each for each in members if each.filename.endswith("data.pkl")), None)
    storages: Storages = {}
    if pickled is not None:
        # A file of torch: a pickle that says what the bytes beside it are.
        folder = pickled.filename.removesuffix("data.pkl")
        for each in members:
            if each.filename.startswith(f"{folder}data/"):
                budget.enter()
                storages[each.filename.removeprefix(f"{folder}data/")] = _member(archive, each, data, budget)
        found, _, why = read_pickle(_member(archive, pickled, data, budget), budget)
        if why:
            yield Unread(where, f"as a pickle: {why}")
            yield from (Unread(f"{where}/{name}", f"as a pickle: {why}", each) for name, each in storages.items())
        yield Mention(where, "a file of torch")
        yield from gather(found, where, budget, storages)
        read = {pickled.filename, *(f"{folder}data/{key[1]}" for key in storages if isinstance(key, tuple))}
        members = [each for each in members if each.filename not in read]
    for each in members:
        budget.enter()
        place = f"{where}/{each.filename}"
        if each.flag_bits & 1:
            yield Unread(place, "it is encrypted")
            continue
        try:
            inner = _member(archive, each, data, budget)
        except Exception as reason:
            # zlib and lzma have errors of their own.
            strange = isinstance(reason, StrangeFileError)
            yield Unread(place, str(reason) if strange else f"it is damaged ({type(reason).__name__})")
            continue
        yield Inner(place, inner)


def _member(archive: zipfile.ZipFile, each: zipfile.ZipInfo, data: memoryview, budget: Budget) -> memoryview:
    if each.compress_type == zipfile.ZIP_STORED:
        # A part of the file, taken without a copy.
        start = each.header_offset + 30 + sum(struct.unpack_from("<HH", data, each.header_offset + 26))
        return data[start : start + each.compress_size]
    budget.pay(min(each.file_size, 1 << 62))
    with archive.open(each) as file:
        found = file.read(each.file_size + 1)
    return memoryview(found)


def _file(data: memoryview) -> Any:
    """Return bytes as a file, without a copy of them."""
    import pyarrow as pa

    return pa.BufferReader(pa.py_buffer(data))


_STATA = read_with_pandas(
    lambda pandas, file: pandas.read_stata(file, convert_categoricals=False, convert_dates=False, chunksize=_CHUNK),
    "Stata",
)
_READERS: dict[bytes, _Reader] = {
    b"PK\x03\x04": _zip,
    b"PK\x05\x06": _zip,
    b"\x93NUMPY": _npy,
    b"PAR1": read_parquet,
    b"ARROW1": read_feather,
    b"\xff\xff\xff\xff": read_feather,
    b"ORC": read_orc,
    b"SQLite format 3\0": read_sqlite,
    b"\x89HDF\r\n\x1a\n": read_hdf5,
    b"<stata_dta>": _STATA,
    bytes(12) + b"\xc2\xea\x81\x60": read_with_pandas(
        lambda pandas, file: pandas.read_sas(file, format="sas7bdat", chunksize=_CHUNK), "SAS"
    ),
    b"HEADER RECORD***": read_with_pandas(
        lambda pandas, file: pandas.read_sas(file, format="xport", chunksize=_CHUNK), "SAS"
    ),
}
