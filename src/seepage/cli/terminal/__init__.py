"""What a user sees: text on a screen, a bar while waiting, documents for a pipeline."""

from seepage.cli.terminal._console import aside as aside
from seepage.cli.terminal._console import listing as listing
from seepage.cli.terminal._console import note as note
from seepage.cli.terminal._console import printable as printable
from seepage.cli.terminal._console import refuse as refuse
from seepage.cli.terminal._console import screen as screen
from seepage.cli.terminal._console import shortened as shortened
from seepage.cli.terminal._documents import show_document as show_document
from seepage.cli.terminal._files import check_new as check_new
from seepage.cli.terminal._formats import WRITERS as WRITERS
from seepage.cli.terminal._formats import Format as Format
from seepage.cli.terminal._near import did_you_mean as did_you_mean
from seepage.cli.terminal._screen import item as item
from seepage.cli.terminal._screen import show_summary as show_summary
from seepage.cli.terminal._screen import show_verdict as show_verdict
from seepage.cli.terminal._verdict import Judged as Judged
from seepage.cli.terminal._verdict import Verdict as Verdict
from seepage.cli.terminal._waiting import Waiting as Waiting
