"""Any estimator that solves estimating equations: what it gives away, from ten lines of a user's own."""

from seepage.equations._equations import Equations as Equations
