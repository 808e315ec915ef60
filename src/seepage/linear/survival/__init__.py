"""Exact information of Cox's proportional hazards."""

from seepage.linear.survival._cox import Cox as Cox
from seepage.linear.survival._fitted import SurvivalFit as SurvivalFit
from seepage.linear.survival._information import SurvivalInformation as SurvivalInformation
from seepage.linear.survival._kinds import is_survival as is_survival
from seepage.linear.survival._measure import measure_survival as measure_survival
from seepage.linear.survival._measure import people_of as people_of
from seepage.linear.survival._outcomes import labels_of as labels_of
