"""Tables of means, counts and shares: as they are declared, and as people print them."""

from seepage.tables._aggregate import Aggregate as Aggregate
from seepage.tables._claims import PrintedDigits as PrintedDigits
from seepage.tables._grids import FORMATS as FORMATS
from seepage.tables._grids import read_grids as read_grids
from seepage.tables._listed import NumberTable as NumberTable
from seepage.tables._listed import TableNumber as TableNumber
from seepage.tables._printed import PrintedNumbers as PrintedNumbers
from seepage.tables._printed import described_numbers as described_numbers
from seepage.tables._printed import named_columns as named_columns
from seepage.tables._printed import not_compared as not_compared
from seepage.tables._printed import printed_numbers as printed_numbers
from seepage.tables._printed import texts_of as texts_of
