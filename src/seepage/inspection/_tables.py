"""Tables of Arrow, Parquet, ORC, Stata, SAS, SQLite and HDF5, decoded within the limits of a file."""

import io
import sqlite3
import struct
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from seepage.inspection._budget import Budget
from seepage.inspection._gather import gather
from seepage.inspection._values import Piece, StoredNumbers, StrangeFileError, Unread, Words

_Reader = Callable[[memoryview, str, Budget], Iterator[Piece]]
# Values of one batch of Parquet: a quarter of the budget of a file. Each batch repeats its dictionaries.
_BATCH = 4 << 20
# Of memory, for each value that becomes an object.
_SIZE_OF_VALUE = 64
_TABLE = 20
# Rows, and bytes of text, that are read at once.
_ROWS = 10_000
_TEXT = 64 << 20


def read_parquet(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    """Yield the columns of a Parquet file, read batch by batch, and its metadata.

    Parameters
    ----------
    data : memoryview
    where : str
        The name of the place.
    budget : Budget
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        source = pa.BufferReader(pa.py_buffer(data))
        columns = parquet.ParquetFile(source).schema
        # Texts stay in their dictionaries, or one long text is many.
        texts = [each.path for each in columns if each.physical_type == "BYTE_ARRAY"]
        file = parquet.ParquetFile(source, read_dictionary=texts)
        names = file.schema_arrow.names
        # Of a narrow table one column is decoded at a time; in a wide one people may be columns.
        for part in [names] if len(names) >= _TABLE or len({*names}) < len(names) else [[name] for name in names]:
            schema = pa.schema([file.schema_arrow.field(name) for name in part], file.schema_arrow.metadata)
            yield from arrow_pieces(paid_table(_parquet_batches(file, budget, part), schema, budget), where, budget)
    except pa.ArrowException:
        raise StrangeFileError("it is no whole Parquet file") from None


def _parquet_batches(file: Any, budget: Budget, names: list[str]) -> Iterator[Any]:
    for i in range(file.num_row_groups):
        group = file.metadata.row_group(i)
        columns = [group.column(j) for j in range(group.num_columns)]
        columns = [column for column in columns if column.path_in_schema.split(".")[0] in names]
        values, size = (
            sum(getattr(column, of) for column in columns) for of in ("num_values", "total_uncompressed_size")
        )
        # A row may hold a long list.
        budget.require(size + 8 * values // max(group.num_rows, 1))
        yield from file.iter_batches(max(1, _BATCH * group.num_rows // max(values, 1)), row_groups=[i], columns=names)


def read_feather(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    """Yield the columns of an Arrow file or stream, if the sizes that its messages declare fit the budget.

    Parameters
    ----------
    data : memoryview
    where : str
        The name of the place.
    budget : Budget
    """
    import pyarrow as pa

    buffer = pa.py_buffer(data)
    is_file = bytes(data[:6]) == b"ARROW1"
    try:
        messages = pa.ipc.MessageReader.open_stream(pa.BufferReader(buffer[8:] if is_file else buffer))
        budget.require(sum(map(_declared_bytes, messages)))
        if is_file:
            file = pa.ipc.open_file(pa.BufferReader(buffer))
            batches = map(file.get_batch, range(file.num_record_batches))
        else:
            file = batches = pa.ipc.open_stream(pa.BufferReader(buffer))
        yield from arrow_pieces(paid_table(batches, file.schema, budget), where, budget)
    except pa.ArrowException:
        raise StrangeFileError("it is no whole Arrow file") from None


def read_orc(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    """Yield the columns of an ORC file, stripe by stripe.

    Parameters
    ----------
    data : memoryview
    where : str
        The name of the place.
    budget : Budget
    """
    import pyarrow as pa
    from pyarrow import orc

    try:
        file = orc.ORCFile(pa.BufferReader(pa.py_buffer(data)))
        budget.require(_SIZE_OF_VALUE * file.nrows * max(len(file.schema), 1))
        yield from arrow_pieces(
            paid_table(map(file.read_stripe, range(file.nstripes)), file.schema, budget), where, budget
        )
    except pa.ArrowException:
        raise StrangeFileError("it is no whole ORC file") from None


def read_with_pandas(read: Callable[[Any, io.BytesIO], Any], name: str) -> _Reader:
    """Return the reader of a format that pandas reads row by row.

    Parameters
    ----------
    read : callable
        From pandas and a file to an iterator of frames.
    name : str
        The name of the program that writes the format.
    """

    def reader(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
        import pyarrow as pa

        try:
            import pandas as pd
        except ImportError:
            raise StrangeFileError(f"files of {name} are read with pandas: pip install pandas") from None
        budget.pay(len(data))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for frame in read(pd, io.BytesIO(data)):
                    budget.pay(int(frame.memory_usage(deep=True).sum()))
                    yield from arrow_pieces(pa.Table.from_pandas(frame, preserve_index=False), where, budget)
        except StrangeFileError:
            raise
        except Exception:
            # Readers of others raise whatever happens to them.
            raise StrangeFileError(f"it is no whole file of {name}") from None

    return reader


def read_sqlite(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    """Yield the columns of the tables of SQLite; functions, triggers and views of the file are not run.

    Parameters
    ----------
    data : memoryview
    where : str
        The name of the place.
    budget : Budget
    """
    if not hasattr(sqlite3.Connection, "deserialize"):
        raise StrangeFileError("files of SQLite are read with Python 3.11 or newer")
    budget.pay(len(data))
    base = sqlite3.connect(":memory:")
    try:
        base.deserialize(bytes(data))
        base.set_authorizer(_allowed)
        base.set_progress_handler(budget.check, 100_000)
        base.text_factory = lambda text: str(text, "utf-8", "replace")
        if base.execute("PRAGMA freelist_count").fetchone()[0]:
            yield Unread(where, "deleted rows may be in its free pages", data)
        tables = base.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0").fetchall()
        for (table,) in tables:
            # Generated columns run functions, which the authorizer is not asked about.
            columns = base.execute(f"PRAGMA table_xinfo({_quoted(table)})").fetchall()
            names = [column[1] for column in columns if not column[-1]]
            if len(names) < len(columns):
                yield Unread(f"{where}.{table[:40]}", "generated columns")
            cursor = base.execute(f"SELECT {', '.join(map(_quoted, names))} FROM {_quoted(table)}")
            while rows := cursor.fetchmany(_ROWS):
                budget.pay(_SIZE_OF_VALUE * len(rows) * len(names))
                content = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
                yield from gather(content, f"{where}.{table[:40]}", budget)
    except sqlite3.Error:
        raise StrangeFileError("it is no whole file of SQLite") from None
    finally:
        base.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _allowed(action: int, *_: object) -> int:
    return (
        sqlite3.SQLITE_OK
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_PRAGMA)
        else sqlite3.SQLITE_DENY
    )


def read_hdf5(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    """Yield the datasets and attributes of HDF5; plugins are not loaded, and no other file is opened.

    Parameters
    ----------
    data : memoryview
    where : str
        The name of the place.
    budget : Budget
    """
    try:
        import h5py
    except ImportError:
        raise StrangeFileError("files of HDF5 are read with h5py: pip install h5py") from None
    while h5py.h5pl.size():
        h5py.h5pl.remove(0)
    budget.pay(len(data))
    with h5py.File(io.BytesIO(data)) as file:
        items: list[Any] = [file]
        file.visititems(lambda _, item: items.append(item))
        for item in items:
            place = f"{where}{item.name.rstrip('/').replace('/', '.')[:200]}"
            yield from gather({name: item.attrs[name] for name in item.attrs}, f"{place} (attributes)", budget)
            if not isinstance(item, h5py.Dataset):
                continue
            if item.external or item.is_virtual:
                yield Unread(place, "its values are in other files")
                continue
            chunk = np.prod(item.chunks or (1,), dtype=float) * item.dtype.itemsize
            budget.pay(int(item.size * item.dtype.itemsize + chunk) if item.size else 0)
            if item.dtype.kind == "O" and item.ndim:
                # Many texts may be one: of a small file many are read at once.
                step = max(1, min(_ROWS, _TEXT // len(data)))
                values: Any = []
                for start in range(0, len(item), step):
                    part = item[start : start + step].ravel().tolist()
                    budget.pay(sum(_SIZE_OF_VALUE + (len(value) if isinstance(value, bytes) else 0) for value in part))
                    values += part
            else:
                values = item[()]
            yield from gather(values, place, budget)


def paid_table(batches: Iterator[Any], schema: Any, budget: Budget) -> Any:
    import pyarrow as pa

    taken = []
    for each in batches:
        budget.pay(each.nbytes)
        taken.append(each)
    return pa.Table.from_batches(taken) if taken else schema.empty_table()


def _declared_bytes(message: Any) -> int:
    """Return how many bytes an Arrow message unpacks to: each compressed buffer begins with its length."""
    data, body = bytes(message.metadata), message.body

    def number(form: str, place: int) -> int:
        return int(struct.unpack_from(form, data, place)[0])

    def entry(table: int, place: int) -> int:
        """Return where the table or vector of an entry of a table of FlatBuffers is; 0 if the table lacks it."""
        entries = table - number("<i", table)
        offset = number("<H", entries + place) if place < number("<H", entries) else 0
        return table + offset + number("<I", table + offset) if offset else 0

    batch = entry(number("<I", 0), 8)
    if message.type == "dictionary":
        batch = entry(batch, 6)
    if message.type == "schema" or not entry(batch, 10):
        return 0 if body is None else int(body.size)
    buffers = entry(batch, 8)
    places = struct.iter_unpack("<qq", data[buffers + 4 : buffers + 4 + 16 * number("<I", buffers)])
    return sum(max(struct.unpack_from("<q", body, at)[0], 0) for at, size in places if size >= 8)


def arrow_pieces(table: Any, where: str, budget: Budget) -> Iterator[Piece]:
    """Yield the columns of a table of Arrow; if they are many, also as one matrix: people may be its columns.

    Parameters
    ----------
    table : pyarrow.Table
    where : str
        The name of the place.
    budget : Budget
    """
    import pyarrow as pa
    from pyarrow import compute, types

    yield Words(f"{where} (names of columns)", [str(each) for each in table.column_names])
    metadata = [each.metadata for each in (table.schema, *table.schema) if each.metadata]
    yield from gather(metadata, f"{where} (metadata)", budget)
    numbers, rows = [], len(table)
    waiting = [(f"{where}.{name[:40]}", column) for name, column in zip(table.column_names, table.columns, strict=True)]
    for place, column in waiting:
        kind = column.type
        value = kind.value_type if types.is_dictionary(kind) else kind
        if types.is_struct(kind):
            waiting += [(f"{place}.{each.name[:40]}", compute.struct_field(column, [i])) for i, each in enumerate(kind)]
        elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            waiting.append((place, compute.list_flatten(column)))
        elif types.is_nested(value) or types.is_interval(value) or types.is_run_end_encoded(value):
            yield Unread(place, "a column of a type that is not read")
        elif "string" in str(value) or "binary" in str(value):
            yield from gather(_one_by_one(column, budget), place, budget)
        elif not types.is_null(value):
            # A dictionary may be longer than its file.
            budget.require(max(8 * len(column) - column.nbytes, 0))
            column = column.cast(value)
            if types.is_temporal(value):
                column = column.cast(pa.int64() if value.bit_width == 64 else pa.int32())
            elif types.is_decimal(value) or types.is_boolean(value):
                column = column.cast(pa.float64())
            array = np.asarray(column.to_numpy())
            if len(array) == rows:
                numbers.append(array)
            elif rows and len(array) % rows == 0:
                # Lists of one length are rows.
                array = array.reshape(rows, -1)
            yield StoredNumbers(place, array)
    if len(numbers) >= _TABLE:
        budget.pay(8 * len(numbers) * rows)
        yield StoredNumbers(f"{where} (all columns)", np.column_stack(numbers).astype(np.float64))


def _one_by_one(column: Any, budget: Budget) -> list[Any]:
    """Return texts or bytes: of a dictionary, or of views of one text, there may be more than the table has bytes."""
    taken = []
    for each in column:
        taken.append(each.as_py() or "")
        budget.pay(_SIZE_OF_VALUE + len(taken[-1]))
    return taken
