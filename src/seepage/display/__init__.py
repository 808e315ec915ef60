"""Pictures for a paper or a page: one file per picture."""

from seepage.display._attack import AttackDisplay as AttackDisplay
from seepage.display._attacker_knowledge import AttackerKnowledgeDisplay as AttackerKnowledgeDisplay
from seepage.display._attribute import AttributeDisplay as AttributeDisplay
from seepage.display._balance import BalanceDisplay as BalanceDisplay
from seepage.display._decision import DecisionDisplay as DecisionDisplay
from seepage.display._display import Display as Display
from seepage.display._distribution import DistributionDisplay as DistributionDisplay
from seepage.display._floor import FloorDisplay as FloorDisplay
from seepage.display._frontier import FrontierDisplay as FrontierDisplay
from seepage.display._gallery import GalleryDisplay as GalleryDisplay
from seepage.display._group import GroupDisplay as GroupDisplay
from seepage.display._layer import LayerDisplay as LayerDisplay
from seepage.display._most_exposed import MostExposedDisplay as MostExposedDisplay
from seepage.display._overlap import OverlapDisplay as OverlapDisplay
from seepage.display._susceptibility import SusceptibilityDisplay as SusceptibilityDisplay
