"""What the file of a tree, a forest or a boosted model gives away about each person."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from seepage._tables import Array, Column, Data, Frame, Listed, Table, column_values, frame
from seepage.errors import InputError, UnansweredError, UnsupportedError
from seepage.leakage import Leakage, PeopleInMemory
from seepage.leakage.types import By
from seepage.trees._attack import Recovered, recover
from seepage.trees._determined import Determined, determined
from seepage.trees._equations import LeafEquations, equations, outcomes
from seepage.trees._leaves import Leaves, leaves_of, near_thresholds
from seepage.trees._read import Trees, read, read_file
from seepage.trees._remedies import remedies
from seepage.trees._values import by_trying, in_intervals

# People who are looked at where there are too many to look at all.
_SAMPLE: Final = 40
# So many folds has the model of other people.
_FEWEST: Final = 5
# The share of an interval for the share of all.
_CONFIDENCE: Final = 0.95


@dataclass(frozen=True, eq=False)
class FittedTrees:
    """A model of trees at the people that it was fitted on."""

    model: Any
    """The last step, if there are steps before it."""
    steps: Any
    """The steps before it; None if there are none."""
    table: Table
    people: PeopleInMemory
    y: NDArray[Any]
    weight: Array | None

    @cached_property
    def trees(self) -> Trees:
        return read_file(self.model) if isinstance(self.model, Path) else read(self.model)

    @cached_property
    def features(self) -> Array:
        """The numbers that splits compare, shape (people, features)."""
        return self.features_of(self.table.native)

    def features_of(self, rows: Data) -> Array:
        """Return the same of other rows."""
        return numbers(rows if self.steps is None else self.steps.transform(rows))

    @cached_property
    def leaves(self) -> NDArray[np.int32]:
        return self.trees.structure.leaves(self.features)

    @property
    def weights(self) -> Array:
        """The weight of each person in each tree."""
        draws = self.trees.draws
        if self.weight is None:
            return np.ones(self.leaves.shape) if draws is None else draws(len(self.leaves))
        if draws is not None:
            raise UnsupportedError("Weights beside draws of rows are not measured. Fit with bootstrap=False.")
        return np.broadcast_to(self.weight[:, None], self.leaves.shape)

    @cached_property
    def drawn(self) -> NDArray[np.bool_]:
        """Whether each person has a weight in each tree."""
        return self.weights > 0

    @cached_property
    def outcomes(self) -> Array:
        return outcomes(self.trees, self.y)

    @cached_property
    def equations(self) -> tuple[LeafEquations, ...]:
        return equations(self.trees, self.leaves, self.outcomes, self.weights)

    @cached_property
    def step(self) -> float:
        """The smallest difference between two outcomes: 1 between two classes."""
        if self.trees.classes is not None:
            return 1.0
        gaps = np.diff(np.unique(self.y.astype(np.float64)))
        return float(gaps.min(initial=np.inf))

    @cached_property
    def alike(self) -> NDArray[np.intp]:
        """How many people have the same leaves and the same draws as each person, with that person."""
        draws = self.drawn if self.trees.draws is None else self.weights
        mix = np.random.default_rng(0).uniform(1.0, 2.0, (2, self.leaves.shape[1]))
        key = np.stack([self.leaves @ mix[0], draws @ mix[1]])
        _, place, counts = np.unique(key, axis=1, return_inverse=True, return_counts=True)
        return np.asarray(counts[place.ravel()])


class TreeLeakage(Leakage):
    """What the file of a tree, a forest or a boosted model gives away.

    Leaf values are averages over people, and leaves overlap: they are linear equations in the people's outcomes. Where
    these determine an outcome, whoever knows everybody's covariates works it out exactly. The splits are taken as they
    are; as they were chosen by the outcomes, nothing here is a bound for whoever is not determined.

    Nothing is computed before it is asked for. The frames are personal data themselves.
    """

    def __init__(self, fitted: FittedTrees) -> None:
        object.__setattr__(self, "fitted", fitted)

    fitted: FittedTrees

    @property
    def information(self) -> NoReturn:
        """Trees have none: leaves jump with attributes, so no error floor exists."""
        raise UnansweredError(
            "Trees jump with attributes, so they have no error floor and no Fisher information.\n"
            "Ask leak.determined(), leak.recovered(), leak.values_left(name), leak.thresholds() or leak.leaves()."
        )

    @property
    def people(self) -> PeopleInMemory:
        return self.fitted.people

    @property
    def assurance(self) -> str:
        return "exact"

    @property
    def assumptions(self) -> tuple[str, ...]:
        result = [
            "The attacker has the file of the model, and knows the covariates of everybody that it was fitted on.",
            "The splits are taken as they are: what their choice gives away is not counted.",
        ]
        if self.draws:
            result.append(
                "The attacker knows the order of the training table: the file holds the seed by which each tree drew "
                "its rows, as row numbers."
            )
        if self.fitted.trees.link is not None:
            result.append("The attacker knows the learning rate and the penalty.")
        if self.fitted.weight is not None:
            result.append("The attacker knows the weights.")
        return tuple(result)

    def determined(self, *, known_outcomes: float = 0.0, order_known: bool = True, seed: int = 0) -> Frame:
        """Return whose outcome comes back exactly, to an attacker who knows everybody's covariates.

        Beyond 2,500 people and leaves, 40 people drawn at random are looked at.

        Parameters
        ----------
        known_outcomes : float, default=0
            The share of people whose outcome the attacker knows besides, drawn at random.
        order_known : bool, default=True
            Whether the attacker knows the order of the training table. It matters where trees draw rows.
        seed : int, default=0
            Of what is drawn at random.

        Returns
        -------
        data frame
            One row for each person: `determined`, whether a leaf of the person's class alone, or a combination of leaf
            values, gives the outcome closer than half the smallest difference between two outcomes; `within`, how far
            the file's rounding lets it be off, missing if the outcome is not given; `projection`, 1 where a
            combination gives it, of a sample a lower bound, missing for people who are not checked because the
            iteration did not converge; `alike`, how many people have the same leaves as this one, with this one: of
            several only the sum can be determined.
        """
        result = self._determined(known_outcomes, order_known, seed)
        columns: dict[str, Column] = {
            "determined": result.within < self.fitted.step / 2,
            "within": np.where(np.isfinite(result.within), result.within, np.nan),
            "projection": result.projection,
            "alike": self.fitted.alike[result.people],
        }
        return self._frame(result.people, columns)

    def _determined(self, known_outcomes: float = 0.0, order_known: bool = True, seed: int = 0) -> Determined:
        if self.draws and not order_known:
            raise UnansweredError(
                "Without the order of the training table, which rows each tree drew is not known, and these equations "
                "are not there.\nWhat other attacks find is not checked."
            )
        if not 0 <= known_outcomes < 1:
            raise InputError(f"known_outcomes is a share from 0 to below 1, not {known_outcomes}.")
        if known_outcomes == 0 and seed == 0:
            return self._all_unknown
        return self._of(known_outcomes, seed)

    @cached_property
    def _all_unknown(self) -> Determined:
        return self._of(0.0, 0)

    def _of(self, known_outcomes: float, seed: int) -> Determined:
        count = len(self.fitted.y)
        random = np.random.default_rng(seed)
        unknown = np.sort(random.permutation(count)[int(known_outcomes * count) :])
        sample = np.sort(random.choice(len(unknown), min(_SAMPLE, len(unknown)), replace=False))
        columns = [determined(one.of(unknown), sample) for one in self._distinct_equations]
        people = unknown[columns[0].people]
        within, projection = (np.stack([getattr(one, name) for one in columns]) for name in ("within", "projection"))
        if len(columns) > 1:
            # The class of a person is known from its own column, or from all others.
            row = self.fitted.outcomes[people].argmax(axis=1)[None, :]
            within = np.minimum(np.take_along_axis(within, row, axis=0), _without(within, row).max(axis=0))
            projection = np.maximum(np.take_along_axis(projection, row, axis=0), _without(projection, row).min(axis=0))
        # Classes are 0 or 1: a leaf that has only one gives it of all its people.
        certain = self._leaves.certain[people] & (self.fitted.trees.classes is not None)
        return Determined(people, projection[0], np.where(certain, 0.0, within[0]))

    @property
    def _distinct_equations(self) -> tuple[LeafEquations, ...]:
        """Return the equations of all classes; of a forest, whose classes share them, those of one."""
        result = self.fitted.equations
        return result if self.fitted.trees.link is not None else result[:1]

    def recovered(self) -> Recovered:
        """Run the attack on the outcomes, and return what it finds beside a model that was fitted on other people.

        The attacker starts from that model's answers, and takes the outcomes nearest to them that solve the equations
        of the leaves. Of classes it solves them between 0 and 1, which gives more than is determined.
        """
        return self._recovered

    @cached_property
    def _recovered(self) -> Recovered:
        fitted = self.fitted
        return recover(fitted.equations, fitted.features, fitted.y, fitted.trees.classes, fitted.step)

    def values_left(self, attribute: str) -> Frame:
        """Return how many values of an attribute are left to an attacker who knows all else.

        All else are everybody else's records, and the person's other values and outcome. Left are the values that occur
        in the data with which the person would be in the same leaf of every tree that drew the person.

        Parameters
        ----------
        attribute : str
            A column.

        Returns
        -------
        data frame
            One row for each person: `values_left`; `width`, of a number: from the lowest to the highest value left;
            `determined`, whether one is left.
        """
        names = self.fitted.table.names
        if attribute not in names:
            raise InputError(f"{attribute!r} is no column: the columns are {', '.join(map(str, names[:20]))}.")
        column = self.fitted.table.column(attribute)
        values, left = self._left(names.index(attribute), column)
        columns: dict[str, Column] = {"values_left": left.sum(axis=1)}
        if column.dtype.kind in "iuf":
            known = ~np.isnan(values)
            lowest = np.where(left & known, values, np.inf).min(axis=1)
            highest = np.where(left & known, values, -np.inf).max(axis=1)
            columns["width"] = np.where(np.isfinite(lowest), highest - lowest, np.nan)
        columns["determined"] = columns["values_left"] == 1
        return self.people.frame(columns)

    def _left(self, at: int, column: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        fitted, structure = self.fitted, self.fitted.trees.structure
        if fitted.steps is None and column.dtype.kind in "iuf":
            values = np.unique(column.astype(np.float64))
            step = max(2**24 // len(values), 1)
            parts = [
                in_intervals(structure, fitted.leaves[s : s + step], fitted.drawn[s : s + step], at, values)
                for s in range(0, len(column), step)
            ]
            return values, np.concatenate(parts)
        values = np.unique(column) if column.dtype.kind in "iuf" else np.array(sorted(set(column.tolist()), key=str))

        def leaves_with(value: object) -> NDArray[np.int32]:
            rows = fitted.table.with_column(at, np.full(len(column), value, dtype=column.dtype))
            return structure.leaves(fitted.features_of(rows.native))

        return values, by_trying(leaves_with, fitted.leaves, fitted.drawn, values)

    def thresholds(self) -> Frame:
        """Return the values that stand alone beside a threshold.

        Splitters that try every cut put a threshold in the middle between two people's values. Whoever knows the one
        value, and that nobody else is as near on the other side, has the other: twice the threshold less the neighbor.

        Returns
        -------
        data frame
            One row for each such value: the person, `feature`, `value`, `threshold`, `neighbor`.
        """
        if not self.fitted.trees.exact:
            raise UnansweredError(
                "The thresholds of this model are no middles between two people's values.\n"
                "What they give away is not checked."
            )
        result = near_thresholds(
            self.fitted.trees.structure, self.fitted.features, self.fitted.leaves, self.fitted.drawn
        )
        names = self.fitted.table.names if self.fitted.steps is None else range(self.fitted.features.shape[1])
        columns: dict[str, Column] = {
            "feature": np.array([names[i] for i in result.feature.tolist()], dtype=object),
            "value": self.fitted.features[result.person, result.feature],
            "threshold": result.threshold,
            "neighbor": result.neighbor,
        }
        return self._frame(result.person, columns)

    def leaves(self) -> Frame:
        """Return how many different people each leaf has, and whether they all have the same outcome."""
        result = self._leaves
        columns = {"tree": result.tree, "people": result.people, "pure": result.pure}
        return frame(columns, self.people.library)

    @cached_property
    def _leaves(self) -> Leaves:
        return leaves_of(self.fitted.trees.structure, self.fitted.leaves, self.fitted.drawn, self.fitted.outcomes)

    def sacro(self, threshold: int = 10) -> Frame:
        """Return what the structural attack of SACRO-ML says of each person, of a single tree with classes.

        Parameters
        ----------
        threshold : int, default=10
            The fewest people of a group.

        Returns
        -------
        data frame
            `k_anonymity`, the people in the leaf; `class_disclosure`, whether a class has no share in it;
            `smallgroup_risk`, whether a class has some people in it, and fewer than the threshold.
        """
        trees = self.fitted.trees
        if self.fitted.leaves.shape[1] != 1 or trees.classes is None or trees.link is not None:
            raise UnansweredError("SACRO-ML's names are those of a single tree with classes: ask leak.leaves().")
        leaf = self.fitted.leaves[:, 0]
        _, place, counts = np.unique(leaf, return_inverse=True, return_counts=True)
        share = trees.structure.value[leaf]
        people = counts[place.ravel()]
        of_class = share * people[:, None]
        return self.people.frame(
            {
                "k_anonymity": people,
                "class_disclosure": np.asarray(np.isclose(share, 0.0).any(axis=1)),
                "smallgroup_risk": np.asarray(((of_class > 0) & (of_class < threshold)).any(axis=1)),
            }
        )

    def remedies(self) -> Frame:
        """Return smaller models that were fitted to the same data: what remains determined, what accuracy is left.

        Returns
        -------
        data frame
            One row for each: `change`; `determined`, the share of people whose outcome comes back exactly; `equations`,
            how many independent ones there are for each person, missing where it is not known; `accuracy`, the model's
            own score in five folds. The most accurate comes first. It is what was tried, and promises nothing for
            other data.
        """
        fitted = self.fitted
        rows = fitted.table.native if fitted.steps is None else fitted.features

        def measured(model: Any) -> tuple[float, float]:
            result = TreeLeakage(replace(fitted, model=model))
            return result.share, result.equations_per_person

        if fitted.weight is not None:
            raise UnansweredError("Remedies are not tried for models that were fitted with weights.")
        return frame(remedies(fitted.model, rows, fitted.y, measured), self.people.library)

    @property
    def draws(self) -> bool:
        """Whether its trees drew rows, so that the order of the training table matters."""
        return self.fitted.trees.draws is not None

    @property
    def returned(self) -> NDArray[np.bool_]:
        """Whether the outcome of each person comes back: exactly, or to a tenth of the standard deviation."""
        return np.asarray(self._all_unknown.within < max(self.fitted.step / 2, self.fitted.outcomes.std() / 10))

    @property
    def share(self) -> float:
        """The share of people whose outcome comes back, of all or of the sample."""
        return float(self.returned.mean())

    @property
    def equations_per_person(self) -> float:
        """Independent equations about the outcomes, for each person; missing where only a sample was looked at."""
        # The trace of a projection is its rank.
        projection = self._all_unknown.projection
        return float(projection.mean()) if len(projection) == len(self.fitted.y) else np.nan

    def most_exposed(self, count: int = 10) -> Frame:
        """Return the people whose outcome is determined, or nearest to it, in the smallest leaves.

        Parameters
        ----------
        count : int, default=10
            How many.
        """
        result = self._all_unknown
        smallest = self._leaves.smallest[result.people]
        order = np.lexsort([smallest, -result.projection, result.within])[:count]
        columns: dict[str, Column] = {
            "determined": (result.within < self.fitted.step / 2)[order],
            "projection": result.projection[order],
            "smallest_leaf": smallest[order],
        }
        return self._frame(result.people[order], columns)

    def by_group(self, groups: By = None, **_: Any) -> Frame:
        """Return the share of people in each group whose outcome is determined.

        Parameters
        ----------
        groups : str or array-like, optional
            A column, or the group of each person; by default those that were given to `measure`.
        """
        result = self._all_unknown
        labels = self.people.labels(groups)[result.people]
        values, place = np.unique(labels.astype(str), return_inverse=True)
        counts = np.bincount(place.ravel())
        columns = {"group": values, "people": counts, "determined": np.bincount(place.ravel(), self.returned) / counts}
        return frame(columns, self.people.library)

    def _frame(self, people: NDArray[np.intp], columns: dict[str, Column]) -> Frame:
        return self.people.take(people).frame(columns)

    def summary(self) -> str:
        """Return a few lines that a person can read."""
        fitted, result, leaves, people = self.fitted, self._all_unknown, self._leaves, len(self.fitted.y)
        exact = result.within < fitted.step / 2
        close = np.isfinite(result.within) & ~exact
        unsettled = np.isnan(result.projection)
        sums = ~np.isfinite(result.within) & (fitted.alike[result.people] > 1)
        order = " in the order of the training table" if self.draws else ""
        lines = [
            f"{fitted.leaves.shape[1]:,} trees, {len(leaves.tree):,} leaves, {people:,} people.",
            f"An attacker who has the file and knows the covariates of all people{order}",
            f"- computes the outcome of {_share(exact, people)} exactly.",
        ]
        if close.any():
            width = f"±{np.median(result.within[close]):.3g}"
            lines.append(f"- computes the outcome of {_share(close, people)} to within {width} (median).")
        if sums.any():
            lines.append(f"- computes only sums over people with the same leaves, of {_share(sums, people)}.")
        if unsettled.any():
            lines.append(f"- Not checked: {_share(unsettled, people)}, as the iteration did not converge.")
        if len(result.people) == people:
            lines.append(f"- has {result.projection.sum():,.0f} independent equations about {people:,} outcomes.")
        lines += [
            str(self.recovered()),
            f"The smallest leaf has {leaves.people.min():,} people; in {leaves.pure.sum():,} leaves all people have "
            "the same outcome.",
            "The splits were chosen by the outcomes: an outcome that is not determined is not thereby safe.",
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.summary())}</pre>"

    def __repr__(self) -> str:
        return f"TreeLeakage({len(self.fitted.y)} people, {self.fitted.leaves.shape[1]} trees)"


def _share(some: NDArray[np.bool_], people: int) -> str:
    """Return how many of all these are; of a sample, the share with an interval."""
    count, result = len(some), int(some.sum())
    if count == people:
        return f"{result:,} of {people:,} people ({result / people:.1%})"
    rest = (1 - _CONFIDENCE) / 2
    low = scipy.stats.beta.ppf(rest, result, count - result + 1) if result else 0.0
    high = scipy.stats.beta.ppf(1 - rest, result + 1, count - result) if result < count else 1.0
    return f"{low:.0%} to {high:.0%} of {people:,} people ({result} of {count} drawn)"


def _without(columns: Array, row: NDArray[np.intp]) -> Array:
    """Return the columns of all classes but each person's own."""
    others = np.arange(len(columns))[:, None] != row
    return np.asarray(columns.T[others.T].reshape(columns.shape[1], -1).T)


def numbers(rows: Data) -> Array:
    """Return rows as numbers."""
    table = Table.of(rows.toarray() if hasattr(rows, "toarray") else rows)
    try:
        return np.column_stack([table.column_at(i).astype(np.float64) for i in range(len(table.names))])
    except (TypeError, ValueError) as error:
        raise InputError(f"X is not all numbers: {error}. Give the model with the step that encodes text.") from error


def measure_trees(
    model: Any, X: Data, y: Listed, *, sample_weight: Listed = None, ids: Listed = None, groups: By = None
) -> TreeLeakage:
    """Measure what publishing a fitted model of trees gives away about each person.

    Parameters
    ----------
    model : estimator, Pipeline or Path
        Of trees, alone or behind steps; or the file of a boosted model, whose classes are numbered from 0.
    X, y, sample_weight, ids, groups
        As `seepage.measure` takes them.
    """
    model = getattr(model, "best_estimator_", model)
    steps, last = (model[:-1], model[-1]) if hasattr(model, "steps") else (None, model)
    if X is None or y is None:
        raise InputError("Trees are measured with the rows and outcomes of the fit: seepage.measure(forest, X, y).")
    table = Table.of(X)
    people = PeopleInMemory.of(table, ids=ids, groups=groups, y=y)
    if people.person is not None and len(np.unique(people.person)) < len(people.person):
        raise InputError("Some people have several rows. Trees are measured with one row for each person.")
    labels = np.squeeze(column_values(y))
    if len(labels) != len(table):
        raise InputError(f"X has {len(table):,} rows and y {len(labels):,}: give the outcome of each row.")
    weight = None if sample_weight is None else np.asarray(column_values(sample_weight), dtype=np.float64)
    fitted = FittedTrees(last, steps, table, people, labels, weight)
    if len(table) < _FEWEST:
        raise InputError(f"Trees are measured with at least {_FEWEST} people, and X has {len(table)}.")
    if fitted.trees.structure.feature.max() >= fitted.features.shape[1]:
        raise InputError("X has fewer columns than the model splits. Give the columns of the fit, in its order.")
    _ = fitted.equations
    return TreeLeakage(fitted)
