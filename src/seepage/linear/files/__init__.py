"""People in Parquet files: measured where they are, never gathered."""

from seepage.linear.files._ids import check_ids as check_ids
from seepage.linear.files._kept import Where as Where
from seepage.linear.files._measure import information_in_files as information_in_files
from seepage.linear.files._measure import measure_files as measure_files
from seepage.linear.files._measure import noted as noted
from seepage.linear.files._people import PeopleInFiles as PeopleInFiles
from seepage.linear.files._people import StoredColumns as StoredColumns
from seepage.linear.files._roles import Roles as Roles
from seepage.linear.files._roles import are_paths as are_paths
from seepage.linear.files._roles import refuse_in_memory as refuse_in_memory
from seepage.linear.files._rows import FileReader as FileReader
from seepage.linear.files._rows import FileRows as FileRows
from seepage.linear.files._source import SourceInFiles as SourceInFiles
