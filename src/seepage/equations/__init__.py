"""Any estimator that solves estimating equations: what it gives away, from ten lines of a user's own."""

from seepage.equations._equations import Equations as Equations
from seepage.equations._gee import GROUP as GROUP
from seepage.equations._gee import is_gee as is_gee
from seepage.equations._gee import read_gee as read_gee
from seepage.equations._information import EquationsInformation as EquationsInformation
