"""Fitted results of statsmodels as models and rows."""

from seepage.linear.results._covariance import Covariance as Covariance
from seepage.linear.results._penalties import is_regularized as is_regularized
from seepage.linear.results._results import SummaryErrors as SummaryErrors
from seepage.linear.results._results import is_results as is_results
from seepage.linear.results._results import taken_apart as taken_apart
from seepage.linear.results._steps import with_steps as with_steps
