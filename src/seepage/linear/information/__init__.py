"""The exact information of a linear model's release, from a fitted model and where its rows are."""

from seepage.linear.information._exact import ExactInformation as ExactInformation
from seepage.linear.information._fitted import Fit as Fit
from seepage.linear.information._fitted import Release as Release
from seepage.linear.information._fitted import Source as Source
from seepage.linear.information._fitted import SourceInMemory as SourceInMemory
from seepage.linear.information._fitted import Weights as Weights
from seepage.linear.information._information import LinearInformation as LinearInformation
from seepage.linear.information._known import KnownValues as KnownValues
from seepage.linear.information._known import Scorer as Scorer
from seepage.linear.information._one_margin import OneMargin as OneMargin
from seepage.linear.information._passes import WARM as WARM
from seepage.linear.information._passes import Adding as Adding
from seepage.linear.information._passes import Kept as Kept
from seepage.linear.information._passes import OnEngine as OnEngine
from seepage.linear.information._passes import fingerprint as fingerprint
from seepage.linear.information._passes import in_runs as in_runs
from seepage.linear.information._scales import Scales as Scales
from seepage.linear.information._several_margins import SeveralMargins as SeveralMargins
from seepage.linear.information._spectrum import top_eigenvalues as top_eigenvalues
