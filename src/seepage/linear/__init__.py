"""Exact information of linear models."""

from seepage.linear._measure import measure as measure
