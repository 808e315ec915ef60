"""What questions about attackers are made of."""

from typing import Literal

Known = int | float | Literal["covariates", "all"]
"""What somebody holds of the other people: so many records, a share of them, all covariates, or everything."""
