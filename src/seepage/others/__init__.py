"""Attackers who know less than everything: the other people are the noise on what is printed."""

from seepage.others._attacker import Attacker as Attacker
from seepage.others._check import Check as Check
from seepage.others._claims import Claims as Claims
from seepage.others._crowd import Crowd as Crowd
from seepage.others._crowd import Held as Held
from seepage.others._digits import Digits as Digits
from seepage.others._information import OthersInformation as OthersInformation
from seepage.others._information import about as about
from seepage.others._information import described as described
from seepage.others._leakage import OthersLeakage as OthersLeakage
from seepage.others._printed import Form as Form
from seepage.others._printed import Level as Level
from seepage.others._printed import Looked as Looked
from seepage.others._printed import Printed as Printed
from seepage.others._several import Difference as Difference
from seepage.others._several import SeveralLeakage as SeveralLeakage
from seepage.others._several import several as several
from seepage.others._shared import Layout as Layout
from seepage.others._sizes import with_known_size as with_known_size
from seepage.others._slopes import Composed as Composed
from seepage.others._slopes import Formed as Formed
from seepage.others._slopes import Slopes as Slopes
from seepage.others._statement import Statement as Statement
from seepage.others._table import AttackerTable as AttackerTable
from seepage.others._tabular import TableQuestion as TableQuestion
from seepage.others._tabular import Tabular as Tabular
