"""The page as a release: which numbers it holds, what they tell about each person, their noise, and an attack on it."""

from seepage.report.count._attack import Trials as Trials
from seepage.report.count._attack import attacked as attacked
from seepage.report.count._contents import NOISE as NOISE
from seepage.report.count._contents import SHARES as SHARES
from seepage.report.count._contents import Contents as Contents
from seepage.report.count._contents import contents_of as contents_of
from seepage.report.count._information import PageInformation as PageInformation
from seepage.report.count._information import counted as counted
from seepage.report.count._information import logarithms as logarithms
from seepage.report.count._noised import Noised as Noised
from seepage.report.count._noised import NoisedGroup as NoisedGroup
from seepage.report.count._noised import noised as noised
