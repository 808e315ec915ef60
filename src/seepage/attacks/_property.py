"""Tell from shared gradients whether a batch has a property (Melis et al. 2019)."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm

from seepage._families import Classifier, Family, checked_property, family_of, fit, held_out, probabilities
from seepage._gradients import Features, Gradients, check_features
from seepage._tables import Array, Column, Frame, Listed, default_library, frame
from seepage.errors import InputError

ALL = "all layers"


@dataclass(eq=False)
class PropertyInference:
    """Guess from what a client sent whether its batch has a property.

    The attacker has batches of their own, with the property and without, and the same network: they collect the
    gradients of those (`seepage.network.collect_gradients`, which also follows several local steps, clipping and
    noise), fit a classifier, and look at what clients send.

    Parameters
    ----------
    family : {"forest", "logistic", "network"} or classifier, default="forest"
        The classifier: a random forest as in the paper, logistic regression, a network with one hidden layer, or any
        of scikit-learn with ``predict_proba``.
    features : {"maxima", "entries"}, default="maxima"
        What the classifier is shown of a layer. Maxima are those of the paper: absolute values of the weights'
        gradients, the largest of each convolution's window, the largest of each input of a matrix with more than 5,000
        entries, scaled to norm 1 batch by batch. Entries are as they are, and so are arrays with a single row of
        numbers a batch.
    folds : int, default=5
        Parts of the attacker's own batches in `evaluate`, each guessed from the others.
    width : int, default=4096
        Of layers that would show more numbers so many are drawn: fewer are faster, and hold the attack back.
    seed : int, default=0
        Of what is drawn, the folds and the classifier.

    Examples
    --------
    >>> import numpy as np, seepage
    >>> random = np.random.default_rng(0)
    >>> has = np.repeat([False, True], 50)
    >>> gradients = {"first": random.normal(size=(100, 3)) + 3 * has[:, None], "last": random.normal(size=(100, 2))}
    >>> attack = seepage.attacks.PropertyInference("logistic").fit(gradients, has)
    >>> attack.evaluate()["name"].tolist()
    ['first', 'last', 'all layers']
    >>> bool(attack.evaluate()["auc"][0] > 0.95)
    True
    """

    family: Family = "forest"
    features: Features = "maxima"
    folds: int = 5
    width: int = 4096
    seed: int = 0
    gradients_: Gradients = field(init=False, repr=False)
    values_: Column = field(init=False, repr=False)
    """The two values of the property; the second is the one whose probability is guessed."""

    def __post_init__(self) -> None:
        family_of(self.family, self.seed)
        if self.folds < 2:
            raise InputError(f"folds must be at least 2, not {self.folds!r}.")
        check_features(self.features, self.width)

    def fit(self, gradients: object, property: Listed) -> Self:  # noqa: A002
        """Learn from batches whose property is known.

        Parameters
        ----------
        gradients : Gradients, path or mapping
            As `seepage.network.collect_gradients` returned them, the folder it wrote to, or arrays with one row a
            batch by layer.
        property : array-like
            Which of two values each batch has.
        """
        stored = Gradients.of(gradients)
        self.values_, self._truth = _two_values(property, stored.count, self.folds)
        self.gradients_ = stored
        self._rows = self._read(stored)
        self._fitted: dict[str, Classifier] = {}
        return self

    def guess(self, gradients: object, *, layer: str = ALL) -> Array:
        """Return the probability that each batch has the property (the second of `values_`).

        Parameters
        ----------
        gradients : Gradients, path or mapping
            What clients sent.
        layer : str, default="all layers"
            The layer that the attacker looks at.
        """
        self._check_fitted()
        stored = Gradients.of(gradients)
        if (stored.names, stored.sizes) != (self.gradients_.names, self.gradients_.sizes):
            raise InputError(f"These are not gradients of the same network: {stored!r} against {self.gradients_!r}.")
        if layer not in self._rows:
            raise InputError(f"There is no layer {layer!r}. There are {list(self._rows)}.")
        return self._guess(self._read(stored)[layer], layer)

    def evaluate(
        self,
        gradients: object = None,
        property: Listed = None,  # noqa: A002
        *,
        confidence: float = 0.95,
    ) -> Frame:
        """Return how well the attack tells batches apart, layer by layer and from all layers together.

        Parameters
        ----------
        gradients, property : optional
            Batches to attack. By default the attacker's own, each part guessed from the others.
        confidence : float, default=0.95
            Of the interval.

        Returns
        -------
        data frame
            One row a layer, and one for all: `name`, `parameters`, `auc` (the probability that a batch with the
            property ranks above one without) and its interval `low`, `high`.
        """
        self._check_fitted()
        if gradients is None:
            rows, truth = self._rows, self._truth
        else:
            stored = Gradients.of(gradients)
            rows, truth = self._read(stored), _two_values(property, stored.count, 1)[1]
        sizes = (*self.gradients_.sizes, sum(self.gradients_.sizes))
        found: list[tuple[str, int, float, float, float]] = []
        for (name, values), size in zip(rows.items(), sizes, strict=True):
            if gradients is None:
                held = held_out(values, truth, family=self.family, folds=self.folds, seed=self.seed)
                scores = held.predicted[:, 1]
            else:
                scores = self._guess(values, name)
            found.append((name, size, *area_under_curve(truth == 1, scores, confidence)))
        columns = map(list, zip(*found, strict=True))
        return frame(dict(zip(("name", "parameters", "auc", "low", "high"), columns, strict=True)), default_library())

    def _read(self, stored: Gradients) -> dict[str, Array]:
        layers = {name: stored.features(name, self.features, width=self.width, seed=self.seed) for name in stored.names}
        return {**layers, ALL: np.concatenate(list(layers.values()), axis=1)}

    def _guess(self, rows: Array, layer: str) -> Array:
        if layer not in self._fitted:
            self._fitted[layer] = fit(self.family, self._rows[layer], self._truth, self.seed)
        shares = np.bincount(self._truth, minlength=2) / len(self._truth)
        return probabilities(self._fitted[layer], rows, shares, len(self._truth))[:, 1]

    def _check_fitted(self) -> None:
        if not hasattr(self, "gradients_"):
            raise InputError("Fit the attack first: PropertyInference(...).fit(gradients, property).")


def _two_values(values: Listed, count: int, folds: int) -> tuple[Column, NDArray[np.intp]]:
    classes, truth = checked_property(values, count, folds)
    if len(classes) != 2:
        raise InputError(f"The attack tells two values of a property apart; this one has {classes.tolist()}.")
    return classes, truth


def area_under_curve(has: NDArray[np.bool_], scores: Array, confidence: float) -> tuple[float, float, float]:
    """Return the area under the ROC curve with its score interval, which is sound up to 0 and 1 (Newcombe 2006).

    The interval's ends solve |auc - t| = z sqrt(v(t)),
    v(t) = t (1 - t) (1 + k (1 - t) / (2 - t) + k t / (1 + t)) / (m n),  k = (m + n) / 2 - 1.
    """
    from sklearn.metrics import roc_auc_score

    auc = float(roc_auc_score(has, scores))
    m, n = int(has.sum()), int((~has).sum())
    z, k = float(norm.ppf(0.5 + confidence / 2)), (m + n) / 2 - 1

    def excess(t: float) -> float:
        variance = t * (1 - t) * (1 + k * (1 - t) / (2 - t) + k * t / (1 + t)) / (m * n)
        return float((auc - t) ** 2 - z**2 * variance)

    # At areas of 0 and 1 the area itself is a root: the other one is looked for.
    aside = 1e-9
    low = 0.0 if auc == 0 else float(brentq(excess, 0.0, auc * (1 - aside)))
    high = 1.0 if auc == 1 else float(brentq(excess, auc + (1 - auc) * aside, 1.0))
    return auc, low, high
