"""What a linear model minimizes, its derivatives as sums over rows, and the exact minimizer."""

from seepage.linear.objective._estimators import Objective as Objective
from seepage.linear.objective._estimators import Problem as Problem
from seepage.linear.objective._estimators import check_known as check_known
from seepage.linear.objective._estimators import check_supported as check_supported
from seepage.linear.objective._estimators import class_weight_of as class_weight_of
from seepage.linear.objective._estimators import labels_of as labels_of
from seepage.linear.objective._estimators import read as read
from seepage.linear.objective._estimators import reader as reader
from seepage.linear.objective._estimators import supported_names as supported_names
from seepage.linear.objective._losses import Logistic as Logistic
from seepage.linear.objective._losses import Loss as Loss
from seepage.linear.objective._losses import Squared as Squared
from seepage.linear.objective._losses import Tweedie as Tweedie
from seepage.linear.objective._losses import TweedieIdentity as TweedieIdentity
from seepage.linear.objective._losses import VectorLoss as VectorLoss
from seepage.linear.objective._minimizer import STATED as STATED
from seepage.linear.objective._minimizer import Minimizer as Minimizer
from seepage.linear.objective._minimizer import minimize as minimize
from seepage.linear.objective._sums import JointSums as JointSums
from seepage.linear.objective._sums import NewtonSums as NewtonSums
from seepage.linear.objective._sums import Nothing as Nothing
from seepage.linear.objective._sums import derivatives as derivatives
from seepage.linear.objective._sums import joint_sums as joint_sums
from seepage.linear.objective._sums import newton_sums as newton_sums
