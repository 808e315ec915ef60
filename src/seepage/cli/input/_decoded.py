"""What files take in memory: far more than on disk, where equal values are written once, or packed."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from seepage.execution.storage import Files, naming

_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 8, "FLOAT": 4, "DOUBLE": 8}
# Where each text starts.
_OFFSET = 8
# How long a text is taken to be that no statistics tell of.
_USUAL_LENGTH = 32


def decoded_bytes(files: Files) -> int:
    """Return about how many bytes all columns take as arrays, from the footers alone."""
    return sum(sum(_columns(metadata)) for metadata in _footers(files))


def take_more_than(batches: Iterable[pa.RecordBatch], most: int) -> bool:
    """Return whether rows take more than so many bytes, reading no further than it takes to know."""
    total = 0
    for batch in batches:
        total += batch.nbytes
        if total > most:
            return True
    return False


def _footers(files: Files) -> Iterator[pq.FileMetaData]:
    for path in files.paths:
        with naming(path), files.filesystem.open_input_file(path) as source:
            yield pq.ParquetFile(source, pre_buffer=False).metadata


def _columns(metadata: pq.FileMetaData) -> Iterator[int]:
    for group in range(metadata.num_row_groups):
        for index in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(index)
            if chunk.physical_type in _WIDTHS:
                yield chunk.num_values * _WIDTHS[chunk.physical_type]
            elif chunk.physical_type == "FIXED_LEN_BYTE_ARRAY":
                yield chunk.num_values * metadata.schema.column(index).length
            else:
                # Never less than what is stored, in which a text that comes often is there once.
                yield max(chunk.num_values * (_OFFSET + _length(chunk)), chunk.total_uncompressed_size)


def _length(chunk: pq.ColumnChunkMetaData) -> int:
    """Return how long the texts of a column are taken to be: between the first and the last in order."""
    found = chunk.statistics
    if found is None or not found.has_min_max:
        return _USUAL_LENGTH
    return (len(found.min) + len(found.max) + 1) // 2
