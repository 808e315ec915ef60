"""Decide what to publish: how much noise is enough, equal leakage, policies, certificates."""

from seepage._choices import Choice as Choice
from seepage._decision import Decision as Decision
from seepage._noise import GaussianNoise as GaussianNoise
from seepage._shapes import Balanced as Balanced
from seepage._shapes import FromPublicRows as FromPublicRows
from seepage._shapes import PerUnit as PerUnit
from seepage._shapes import RobustCovariance as RobustCovariance
from seepage._shapes import Shape as Shape
from seepage.release._calibrate import calibrate as calibrate
from seepage.release._certificate import Certificate as Certificate
from seepage.release._certify import Certification as Certification
from seepage.release._certify import certify as certify
from seepage.release._compose import compose as compose
from seepage.release._estimates import Estimates as Estimates
from seepage.release._frontier import Frontier as Frontier
from seepage.release._frontier import frontier as frontier
from seepage.release._policy import Policy as Policy
from seepage.release._publish import Publication as Publication
from seepage.release._publish import publish as publish
from seepage.release._results import ResultTable as ResultTable
from seepage.release._suggest import Suggestion as Suggestion
from seepage.release._suggest import suggest as suggest
