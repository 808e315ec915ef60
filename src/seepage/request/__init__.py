"""A request to let outputs out: what each of them, and all of them together, would give away."""

from seepage.request._check import check as check
from seepage.request._decided import Mend as Mend
from seepage.request._decided import MissedTarget as MissedTarget
from seepage.request._decided import OutputVerdict as OutputVerdict
from seepage.request._decided import Rule as Rule
from seepage.request._decided import Stage as Stage
from seepage.request._draft import draft as draft
from seepage.request._held import Figure as Figure
from seepage.request._verdict import Verdict as Verdict
