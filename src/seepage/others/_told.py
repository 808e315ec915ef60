"""From what is printed, of a model of any kind, to what attackers make of it who do not know everybody else."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption
from seepage._noise import GaussianNoise
from seepage._tables import Array
from seepage.errors import InputError
from seepage.leakage import Information, People
from seepage.others._attacker import Attacker
from seepage.others._digits import Digits
from seepage.others._information import OthersInformation, about, described
from seepage.others._leakage import OthersLeakage
from seepage.others._printed import Printed
from seepage.others._sizes import with_known_size
from seepage.others.types import Known


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

    def before(
        self,
        others_known: Known | None,
        digits: int | str | None,
        known_sizes: Sequence[str],
        assumptions: tuple[Assumption, ...],
        decimals: int | None = None,
    ) -> OthersLeakage:
        """Return what that says to an attacker who uses averages.

        Parameters
        ----------
        others_known, digits, known_sizes
            As `seepage.measure` takes them.
        assumptions : tuple of Assumption
            What is taken for granted whoever attacks.
        decimals : int, optional
            With how many decimals the model was written down, if it was.
        """
        if isinstance(known_sizes, str):
            raise InputError(f"known_sizes is a list of columns: [{known_sizes!r}].")
        printed, published = self.printed, self.published
        for name in dict.fromkeys([*known_sizes, *self.counted]):
            printed = with_known_size(printed, name, self.people.labels(name), name in self.encoded)
            published = (*published, f"how many people have each {name}")
        others = (self.base.count if self.family is None else int(self.family.max()) + 1) - 1
        attacker = Attacker.of(0 if others_known is None else others_known, others)
        rule, private = Digits.of(digits, printed, decimals), tuple(printed.blocks)
        return OthersLeakage(
            OthersInformation(
                people=self.people,
                base=self.base,
                printed=printed,
                attacker=attacker,
                digits=rule,
                added=self._added(printed),
                family=self.family,
                noise=None,
                attribute_names=private,
                categorical=frozenset(self.base.categorical & set(private)),
                assumptions=(about(attacker), *described(published, rule), *assumptions),
                units=self.base.units,
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
