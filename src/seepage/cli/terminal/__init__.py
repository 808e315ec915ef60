"""The screen: text, progress, documents for a pipeline."""

from seepage._near import did_you_mean as did_you_mean
from seepage.cli.terminal._amount import Amount as Amount
from seepage.cli.terminal._console import aside as aside
from seepage.cli.terminal._console import listing as listing
from seepage.cli.terminal._console import note as note
from seepage.cli.terminal._console import printable as printable
from seepage.cli.terminal._console import refuse as refuse
from seepage.cli.terminal._console import screen as screen
from seepage.cli.terminal._console import shortened as shortened
from seepage.cli.terminal._documents import is_certificate as is_certificate
from seepage.cli.terminal._documents import print_or_write as print_or_write
from seepage.cli.terminal._documents import show as show
from seepage.cli.terminal._documents import show_document as show_document
from seepage.cli.terminal._documents import show_people as show_people
from seepage.cli.terminal._documents import show_sections as show_sections
from seepage.cli.terminal._documents import show_written as show_written
from seepage.cli.terminal._journal import AGAIN as AGAIN
from seepage.cli.terminal._journal import drawing as drawing
from seepage.cli.terminal._journal import was_left as was_left
from seepage.cli.terminal._outputs import check_outputs as check_outputs
from seepage.cli.terminal._outputs import data_inputs as data_inputs
from seepage.cli.terminal._waiting import Waiting as Waiting
