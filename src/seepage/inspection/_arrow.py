"""Tables of Arrow and Parquet, decoded within the limits of a file."""

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from seepage.inspection._budget import Budget
from seepage.inspection._gather import gather
from seepage.inspection._values import Piece, StoredNumbers, StrangeFileError, Unread, Words

# Values of one batch of Parquet: a quarter of the budget of a file. Each batch repeats its dictionaries.
_BATCH = 8 << 20
# Of memory, for each value that becomes an object.
_SIZE_OF_VALUE = 64
_TABLE = 20


def read_parquet(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    """Yield the columns of a Parquet file, read batch by batch, and its metadata.

    Parameters
    ----------
    data : memoryview
    where : str
        What the place is called.
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
        yield from arrow_pieces(_paid_table(_parquet_batches(file, budget), file.schema_arrow, budget), where, budget)
    except pa.ArrowException:
        raise StrangeFileError("it is no whole Parquet file") from None


def _parquet_batches(file: Any, budget: Budget) -> Iterator[Any]:
    for i in range(file.num_row_groups):
        group = file.metadata.row_group(i)
        values = sum(group.column(j).num_values for j in range(group.num_columns))
        # A row may hold a long list.
        budget.require(group.total_byte_size + 8 * values // max(group.num_rows, 1))
        yield from file.iter_batches(max(1, _BATCH * group.num_rows // max(values, 1)), row_groups=[i])


def read_feather(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    """Yield the columns of an Arrow file, if the sizes that its messages declare fit the budget.

    Parameters
    ----------
    data : memoryview
    where : str
        What the place is called.
    budget : Budget
    """
    import pyarrow as pa

    try:
        buffer = pa.py_buffer(data)
        budget.require(sum(map(_declared_bytes, pa.ipc.MessageReader.open_stream(pa.BufferReader(buffer[8:])))))
        with pa.ipc.open_file(pa.BufferReader(buffer)) as file:
            batches = map(file.get_batch, range(file.num_record_batches))
            yield from arrow_pieces(_paid_table(batches, file.schema, budget), where, budget)
    except pa.ArrowException:
        raise StrangeFileError("it is no whole Arrow file") from None


def _paid_table(batches: Iterator[Any], schema: Any, budget: Budget) -> Any:
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
        What the place is called.
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
            budget.pay(8 * len(column))
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
