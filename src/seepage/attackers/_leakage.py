"""What a release without noise gives away, to whom."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from seepage._python import Self
from seepage._tables import Frame, frame
from seepage.attackers._information import SamplingInformation
from seepage.attackers._records_needed import records_needed
from seepage.attackers._slopes import Formed, Slopes
from seepage.attackers._statement import Statement
from seepage.attackers._table import AttackerTable
from seepage.attackers.types import Known
from seepage.errors import InputError, UnansweredError
from seepage.leakage import Leakage, check_names
from seepage.leakage.types import Prior
from seepage.meaning import distance_for

# Beyond so many people nobody chooses among the others for a sentence: that takes each of them beside each.
_MOST_CHOSEN = 5_000


@dataclass(frozen=True, eq=False, repr=False)
class SamplingLeakage(Leakage):
    """What printed numbers give away to attackers who use averages and know a part of the other people.

    The assurance is "approximate": numbers describe such attackers and are no bounds. Values that are not assessed are
    missing, and `not_assessed()` gives the reasons; values that can be worked out exactly have an infinite eta.
    """

    information: SamplingInformation

    def against(self, known_records: Known) -> Self:
        """Return the same release before an attacker who holds something else of the others.

        Parameters
        ----------
        known_records : int, float, "covariates" or "all"
            As `seepage.measure` takes it.
        """
        return type(self)(self.information.against(known_records))

    def error_floor(self, *, prior: Prior = None, interval: Mapping[str, tuple[float, float]] | None = None) -> Frame:
        """Return the error of an attacker who uses averages, for each person and attribute, in the attribute's unit.

        It is missing where nothing is claimed, and 0 where nothing protects.

        Parameters
        ----------
        prior : "data" or mapping from attribute to variance, optional
            By default the attacker knows nothing of the value beforehand. "data": what the person's other values let
            expect of it. Or the variance of a normal prior.
        interval : mapping, optional
            As for any `Leakage`.
        """
        if prior != "data":
            return super().error_floor(prior=prior, interval=interval)
        if interval is not None:
            raise InputError('Beside prior="data" there is no interval: leave one of the two out.')
        return self.people.frame(self.information.errors)

    def remaining_variance(self, *, prior: Prior = "data") -> Frame:
        """Return the share of the prior variance that the release leaves; missing where nothing is claimed."""
        if prior != "data":
            return super().remaining_variance(prior=prior)
        known = self.information.printed.deviations
        return self.people.frame({name: (error / known[name]) ** 2 for name, error in self.information.errors.items()})

    def success_rate(
        self,
        attribute: str,
        *,
        values: Sequence[Hashable] | None = None,
        prior: Literal["data"] | Mapping[Hashable, float] | None = None,
    ) -> Frame:
        """Return how often an attacker who uses averages tells a person's true value from another one.

        How the numbers would change is taken to first order in one person among many; what is not claimed is missing.

        Parameters
        ----------
        attribute, values, prior
            As for any `Leakage`.
        """
        return super().success_rate(attribute, values=values, prior=prior)

    def not_assessed(self) -> Frame:
        """Return why nothing is claimed, for each person and attribute; empty where something is."""
        return self.people.frame(self.information.not_assessed())

    def records_needed(
        self,
        *,
        error_floor: Mapping[str, float] | None = None,
        success_rate: Mapping[str, float] | None = None,
    ) -> Frame:
        """Return how many of the others an attacker must know to guess a value so well, for each person.

        Parameters
        ----------
        error_floor : mapping from attribute to float, optional
            An error in the attribute's own unit, of somebody who knows the person's other values beforehand.
        success_rate : mapping from attribute to float, optional
            Of a category or a label: how often it is told from the other value that is told most easily, at even odds.

        Returns
        -------
        data frame
            For each attribute two columns: `random`, how many records drawn at random leave the guess that bad (beyond
            as many nothing is claimed), and `chosen`, how many are enough for somebody who may choose whom to know.
        """
        if (error_floor is None) == (success_rate is None):
            raise InputError("records_needed takes either error_floor={...} or success_rate={...}.")
        information, found = self.information, {}
        if information.added is not None:
            raise UnansweredError("Noise is added: how many others must be known beside it is not answered.")
        for name in (*(error_floor or {}), *(success_rate or {})):
            check_names(information, {name: None})
            information.check_slope(name)
        for name, wanted in (error_floor or {}).items():
            if name not in information.printed.deviations:
                raise InputError(f"{name!r} has no error of one number: ask success_rate={{{name!r}: ...}}.")
            slopes = partial(self._slope, name)
            found[name] = records_needed(information, float(wanted), slopes, information.printed.deviations[name])
        for name, rate in (success_rate or {}).items():
            if not 0.5 < rate < 1:
                raise InputError(f"The success rate of {name!r} is between 0.5 and 1, not {rate!r}.")
            pairs = [
                records_needed(information, 1 / distance_for(float(rate)), partial(self._change, name, value), np.inf)
                for value in self._values(name)
            ]
            found[name] = np.min([a for a, _ in pairs], axis=0), np.min([b for _, b in pairs], axis=0)
        columns = {
            f"{name}, {how}": pair[i] for name, pair in found.items() for i, how in enumerate(("random", "chosen"))
        }
        return self.people.frame(columns)

    def _slope(self, attribute: str, people: NDArray[np.intp]) -> Slopes:
        printed = self.information.printed
        return printed.jacobian(people).of(printed.blocks[attribute])

    def _change(self, attribute: str, value: Hashable, people: NDArray[np.intp]) -> Slopes:
        return Formed(self.information.printed.changed(people, attribute, value)[:, :, None])

    def _values(self, attribute: str) -> list[Hashable]:
        if attribute not in self.information.categorical:
            raise InputError(f"{attribute!r} is a number: ask error_floor={{{attribute!r}: ...}}.")
        return np.unique(self.information._column(attribute)[0]).tolist()  # type: ignore[no-any-return]

    def rounded_table(self) -> Frame:
        """Return the table to print: every number to the digits that were counted."""
        printed, digits = self.information.printed, self.information.digits
        found = {"number": list(printed.names), "value": digits.printed(printed.values), "step": digits.steps}
        return frame(found, self.people.library)

    def by_attacker(self) -> AttackerTable:
        """Return the error of five attackers, from one who knows nobody to one who knows everybody else."""
        return AttackerTable.of(self.information)

    def statement(self) -> Statement:
        """Return what may be said of this release in a paper or a form; no certificate."""
        found, information = Statement(self.by_attacker()), self.information
        name, held = found.attribute, information.printed.each is None and information.count <= _MOST_CHOSEN
        if name is None or not found.nearest > 0 or not held or information.added is not None:
            return found
        try:
            needed = self.records_needed(error_floor={name: found.nearest})
        except UnansweredError:
            return found
        return replace(found, chosen=int(np.asarray(needed[f"{name}, chosen"]).min()))

    def summary(self) -> str:
        """Return the table by attacker, as a person can read it."""
        return str(self.by_attacker())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.summary())}</pre>"

    def __str__(self) -> str:
        return self.summary()
