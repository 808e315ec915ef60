"""The information about each person that all releases together reveal, over the years."""

from seepage.ledger._audit import Fault as Fault
from seepage.ledger._entry import Entry as Entry
from seepage.ledger._ledger import Ledger as Ledger
from seepage.ledger._preview import Preview as Preview
