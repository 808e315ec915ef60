"""What a user sees: text on a screen, a bar while waiting, documents for a pipeline."""

from seepage._near import did_you_mean as did_you_mean
from seepage.cli.terminal._console import aside as aside
from seepage.cli.terminal._console import listing as listing
from seepage.cli.terminal._console import note as note
from seepage.cli.terminal._console import printable as printable
from seepage.cli.terminal._console import refuse as refuse
from seepage.cli.terminal._console import screen as screen
from seepage.cli.terminal._console import shortened as shortened
from seepage.cli.terminal._documents import is_certificate as is_certificate
from seepage.cli.terminal._documents import show_document as show_document
from seepage.cli.terminal._documents import show_promises as show_promises
from seepage.cli.terminal._documents import show_report as show_report
from seepage.cli.terminal._documents import show_written as show_written
from seepage.cli.terminal._formats import WRITERS as WRITERS
from seepage.cli.terminal._formats import Format as Format
from seepage.cli.terminal._journal import AGAIN as AGAIN
from seepage.cli.terminal._journal import Journal as Journal
from seepage.cli.terminal._outputs import check_outputs as check_outputs
from seepage.cli.terminal._outputs import data_inputs as data_inputs
from seepage.cli.terminal._screen import item as item
from seepage.cli.terminal._screen import show_people as show_people
from seepage.cli.terminal._screen import show_summary as show_summary
from seepage.cli.terminal._screen import show_verdict as show_verdict
from seepage.cli.terminal._verdict import Judged as Judged
from seepage.cli.terminal._verdict import VerdictPanel as VerdictPanel
from seepage.cli.terminal._waiting import Waiting as Waiting
