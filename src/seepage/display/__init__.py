"""Pictures for a paper or a page: one file per picture."""

from seepage.display._attack import AttackDisplay as AttackDisplay
from seepage.display._attacker_knowledge import AttackerKnowledgeDisplay as AttackerKnowledgeDisplay
from seepage.display._attribute import AttributeDisplay as AttributeDisplay
from seepage.display._balance import BalanceDisplay as BalanceDisplay
from seepage.display._display import Display as Display
from seepage.display._distribution import DistributionDisplay as DistributionDisplay
from seepage.display._floor import FloorDisplay as FloorDisplay
from seepage.display._frontier import FrontierDisplay as FrontierDisplay
from seepage.display._overlap import OverlapDisplay as OverlapDisplay
