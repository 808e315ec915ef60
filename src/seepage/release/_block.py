"""What a published model takes of the raw columns as they are: numbers, and indicators of levels."""

from collections.abc import Sequence
from dataclasses import dataclass

from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from seepage._tables import Model
from seepage.release._preprocessing import Fill, PublishedSteps


@dataclass(frozen=True)
class Block:
    """Raw columns that the published model takes in the same way: as numbers, or as indicators of their levels."""

    columns: tuple[int, ...]
    levels: tuple[tuple[object, ...], ...] | None
    """For each column the values that are named; None for numbers."""
    unknown: str
    """What becomes of other values, as scikit-learn calls it."""
    fill: Fill | None

    @classmethod
    def of(cls, columns: Sequence[int], preprocessing: PublishedSteps, *, as_levels: bool) -> "Block":
        """Return columns that are all filled in the same way, and whose levels are all known in the same way."""
        fill = preprocessing.fills.get(columns[0])
        if not as_levels:
            return cls(tuple(columns), None, "", fill)
        found = [preprocessing.levels[column] for column in columns]
        return cls(tuple(columns), tuple(each.named for each in found), found[0].others, fill)

    @property
    def kind(self) -> str:
        """What its part of the model is called."""
        return "numbers" if self.levels is None else "levels"

    def taken(self) -> list[tuple[int, tuple[object, ...]]]:
        """Return what each coefficient belongs to: a column, and the value of it for a level."""
        if self.levels is None:
            return [(column, ()) for column in self.columns]
        return [(column, (value,)) for column, each in zip(self.columns, self.levels, strict=True) for value in each]

    def words(self, names: Sequence[str]) -> list[str]:
        """Return what each coefficient is called."""
        return [" = ".join([names[column], *map(str, value)]) for column, value in self.taken()]

    def steps(self) -> list[Model]:
        """Return what turns the columns into numbers, not fitted, one after the other."""
        steps: list[Model] = []
        if self.fill is not None:
            given = {"missing_values": self.fill.marker, "fill_value": self.fill.value}
            steps.append(SimpleImputer(strategy="constant", keep_empty_features=True, **given))
        if self.levels is not None:
            steps.append(OneHotEncoder(categories=[list(each) for each in self.levels], handle_unknown=self.unknown))
        return steps

    def examples(self) -> dict[int, tuple[object, ...]]:
        """Return values of nobody for each column, which the steps take."""
        return {} if self.levels is None else dict(zip(self.columns, self.levels, strict=True))


def in_a_row(steps: Sequence[Model]) -> Model:
    """Return several steps as one."""
    if len(steps) < 2:
        return steps[0] if steps else "passthrough"
    return Pipeline([(f"{type(step).__name__.lower()} {i}", step) for i, step in enumerate(steps, 1)])
