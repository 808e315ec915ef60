"""What questions about attackers are made of."""

from typing import Literal

Known = int | float | Literal["population", "covariates", "half", "all", "all records"]
"""Part of the other records that an attacker knows: a number, a share, no record, all covariates, half, or all."""
