"""What a published model takes through steps that are not affine: copies of them that were fitted on nobody."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from seepage._errors import UnsupportedError
from seepage._tables import Model
from seepage.linear.columns import Bend
from seepage.release._preprocessing import Fill


@dataclass(frozen=True, eq=False)
class BentBlock:
    """Raw columns that the published model takes through one or more steps that bend."""

    kind: ClassVar[str] = "bent"

    columns: tuple[int, ...]
    fill: Fill | None
    bends: tuple[Bend, ...]
    """One after the other, the first one first."""

    @classmethod
    def of(cls, bend: Bend, fills: Mapping[int, Fill]) -> "BentBlock":
        """Return how the raw columns become what a bend makes; refuse ways that cannot be copied."""
        incoming = bend.incoming
        if incoming.bends:
            before = incoming.bends[0]
            identity = np.eye(incoming.features)
            whole = len(incoming.bends) == 1 and before.matrix.shape == identity.shape
            if not whole or incoming.matrix.nnz or incoming.offset.any() or (before.matrix != identity).any():
                raise _cannot(bend, "is given what other steps made, mixed or scaled")
            found = cls.of(before, fills)
            return cls(found.columns, found.fill, (*found.bends, bend))
        columns = [incoming.raw_column(feature) for feature in range(incoming.features)]
        known = tuple(column for column in columns if column is not None)
        if len(known) < len(columns):
            raise _cannot(bend, "is given columns that were scaled, mixed or encoded before")
        listed = [fills.get(column) for column in known]
        if len({repr(fill) for fill in listed}) > 1:
            raise _cannot(bend, "is given columns whose missing cells are filled in different ways")
        return cls(known, listed[0], (bend,))

    def step(self) -> Model:
        """Return the steps, not fitted."""
        steps: list[tuple[str, Model]] = []
        if self.fill is not None:
            given = {"missing_values": self.fill.marker, "fill_value": self.fill.value}
            steps.append(("fill", SimpleImputer(strategy="constant", keep_empty_features=True, **given)))
        steps += [(type(one := bend.curve.copy()).__name__.lower(), one) for bend in self.bends]
        steps = [(f"{name} {i}", step) for i, (name, step) in enumerate(steps, 1)]
        return Pipeline(steps) if len(steps) > 1 else steps[0][1]

    def examples(self) -> dict[int, float]:
        """Return a value of nobody for each column, which the steps take."""
        return dict(zip(self.columns, self.bends[0].curve.example().tolist(), strict=True))

    def words(self, names: Sequence[str]) -> list[str]:
        """Return what each coefficient is called."""
        found = [names[column] for column in self.columns]
        for bend in self.bends:
            found = bend.curve.words(found)
        return found


def _cannot(bend: Bend, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"The step {bend.path!r} {why}, and what is published has no place for steps in front of one that is not "
        "affine. Way out: give it raw columns, and put the other steps behind it, where they are folded in."
    )
