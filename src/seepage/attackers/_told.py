"""From what is printed, of a model of any kind, to what attackers make of it who do not know everybody else."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption
from seepage._noise import GaussianNoise
from seepage._tables import Array
from seepage.attackers._attacker import Attacker
from seepage.attackers._digits import Digits
from seepage.attackers._information import SamplingInformation, about, described
from seepage.attackers._leakage import SamplingLeakage
from seepage.attackers._printed import Printed
from seepage.attackers._sizes import with_known_size
from seepage.attackers.types import Known
from seepage.errors import InputError
from seepage.leakage import Information, People


@dataclass(frozen=True, eq=False)
class Told:
    """What a model of any kind prints, about whom."""

    base: Information
    printed: Printed
    published: tuple[str, ...]
    people: People
    family: NDArray[np.intp] | None
    """Of each person, if clusters were named."""
    encoded: frozenset[str] = frozenset()
    """Columns of categories, of which the model sees a column a level."""
    noise: GaussianNoise | None = None
    """What is added to every number that is no count, if something is."""
    counted: tuple[str, ...] = ()
    """Columns of which it is always known how many people have each value."""
    without_slope: tuple[str, ...] = ()
    """Private attributes that are not assessed, since the numbers do not move smoothly with them."""

    def before(
        self,
        known_records: Known | None,
        digits: int | str | None,
        known_group_sizes: Sequence[str],
        assumptions: tuple[Assumption, ...],
        decimals: int | None = None,
    ) -> SamplingLeakage:
        """Return what that says to an attacker who uses averages.

        Parameters
        ----------
        known_records, digits, known_group_sizes
            As `seepage.measure` takes them.
        assumptions : tuple of Assumption
            What is taken for granted whoever attacks.
        decimals : int, optional
            With how many decimals the model was written down, if it was.
        """
        if isinstance(known_group_sizes, str):
            raise InputError(f"known_group_sizes is a list of columns: [{known_group_sizes!r}].")
        printed, published = self.printed, self.published
        for name in dict.fromkeys([*known_group_sizes, *self.counted]):
            printed = with_known_size(printed, name, self.people.labels(name), name in self.encoded)
            published = (*published, f"how many people have each {name}")
        others = (self.base.count if self.family is None else int(self.family.max()) + 1) - 1
        attacker = Attacker.of(0 if known_records is None else known_records, others)
        rule, private = Digits.of(digits, printed, decimals), tuple(printed.blocks)
        return SamplingLeakage(
            SamplingInformation(
                people=self.people,
                base=self.base,
                printed=printed,
                attacker=attacker,
                digits=rule,
                added=self._added(printed),
                family=self.family,
                noise=None,
                attribute_names=(*private, *self.without_slope),
                categorical=frozenset(self.base.categorical & set(private)),
                assumptions=(about(attacker), *described(published, rule), *assumptions),
                units=self.base.units,
                without_slope=frozenset(self.without_slope),
            )
        )

    def _added(self, printed: Printed) -> Array | None:
        if self.noise is None:
            return None
        # Counts of people are known as they are.
        found, noisy = np.zeros((len(printed.names),) * 2), np.flatnonzero(~printed.whole)
        scale = self.noise.scale
        found[np.ix_(noisy, noisy)] = scale**2 * np.eye(len(noisy)) if scale is not None else self.noise.known()
        return found
