"""Show it: pictures, and a report for the person who must decide."""

from seepage.report._attack_display import AttackDisplay as AttackDisplay
from seepage.report._attribute_display import AttributeDisplay as AttributeDisplay
from seepage.report._distribution_display import DistributionDisplay as DistributionDisplay
from seepage.report._equalized_display import EqualizedDisplay as EqualizedDisplay
from seepage.report._floor_display import FloorDisplay as FloorDisplay
from seepage.report._gallery_display import GalleryDisplay as GalleryDisplay
from seepage.report._group_display import GroupDisplay as GroupDisplay
from seepage.report._report import Report as Report
from seepage.report._worst_display import WorstDisplay as WorstDisplay
