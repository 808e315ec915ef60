"""Rows as the two passes see them: numbers, a batch at a time."""

from seepage.linear.rows._frame import Frame as Frame
from seepage.linear.rows._rows import IN_TICKS as IN_TICKS
from seepage.linear.rows._rows import Balance as Balance
from seepage.linear.rows._rows import Batch as Batch
from seepage.linear.rows._rows import InMemory as InMemory
from seepage.linear.rows._rows import Labels as Labels
from seepage.linear.rows._rows import Reading as Reading
from seepage.linear.rows._rows import Rebalanced as Rebalanced
from seepage.linear.rows._rows import RowData as RowData
from seepage.linear.rows._rows import batch_rows as batch_rows
from seepage.linear.rows._rows import check_batch as check_batch
from seepage.linear.rows._rows import check_raw as check_raw
from seepage.linear.rows._rows import check_width as check_width
from seepage.linear.rows._rows import checked_offset as checked_offset
from seepage.linear.rows._rows import checked_weights as checked_weights
from seepage.linear.rows._threads import in_threads as in_threads
from seepage.linear.rows._threads import one_thread as one_thread
from seepage.linear.rows._threads import one_threaded_blas as one_threaded_blas
from seepage.linear.rows._threads import threads_allowed as threads_allowed
