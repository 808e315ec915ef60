"""A setting to try: a model, its data and a question, drawn at random and written as a program that can be pasted."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks import _oracle as oracle
from benchmarks._oracle import Column, Expected, Objective

HEADER = """\
import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    GammaRegressor, LinearRegression, LogisticRegression, PoissonRegressor, Ridge, RidgeClassifier, SGDClassifier,
    SGDRegressor, TweedieRegressor,
)
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler
import seepage
"""

_COLORS = ("red", "green", "blue", "teal", "pink")
_OUTCOMES = {
    "real": "y = m + random.normal(size=n)",
    "pair": "y = np.column_stack([m + random.normal(size=n), 50 * (m + random.normal(size=n)) + 3])",
    "two": "y = (m + random.logistic(size=n) > 0).astype(int); y[:2] = 0, 1",
    "three": "y = np.argmax(np.column_stack([m, -m, 0 * m]) + random.gumbel(size=(n, 3)), axis=1); y[:3] = 0, 1, 2",
    "count": "y = random.poisson(np.exp(m)).astype(float); y[0] = 2",
    "positive": "y = np.exp(m) * random.gamma(3, size=n) / 3 + 0.01",
    "far": "y = 20 + m + random.random(n)",
}
# The estimator, what it predicts, and the slope of its loss.
_FAMILIES: dict[str, tuple[str, str, oracle.Slope]] = {
    "linear": ("LinearRegression({common})", "real", oracle.squared),
    "ridge": ("Ridge(alpha={penalty}, {solver}{common})", "real", oracle.squared),
    "two ridges": ("Ridge(alpha=[{penalty}, 3.0], {common})", "pair", oracle.squared),
    "ridge classifier": ("RidgeClassifier(alpha={penalty}, {classes}{common})", "two", oracle.squared),
    "ridge classifier of three": ("RidgeClassifier(alpha={penalty}, {classes}{common})", "three", oracle.squared),
    "logistic": ("LogisticRegression(C=1 / {penalty}, {solver}{classes}{common})", "two", oracle.logistic),
    "softmax": ("LogisticRegression(C=1 / {penalty}, {solver}{classes}{common})", "three", oracle.softmax),
    "poisson": ("PoissonRegressor(alpha={penalty} / 10, {solver}{common})", "count", oracle.tweedie(1)),
    "gamma": ("GammaRegressor(alpha={penalty} / 10, {solver}{common})", "positive", oracle.tweedie(2)),
    "tweedie": ("TweedieRegressor(power=1.5, alpha={penalty} / 10, {solver}{common})", "positive", oracle.tweedie(1.5)),
    "tweedie log": (
        "TweedieRegressor(power=0, link='log', alpha={penalty} / 10, tol=1e-8, max_iter=5000, {common})",
        "positive",
        oracle.tweedie(0),
    ),
    "tweedie identity": (
        "TweedieRegressor(power=1, link='identity', alpha={penalty} / 10, tol=1e-8, max_iter=5000, {common})",
        "far",
        oracle.tweedie_identity(1),
    ),
    "descent": ("SGDRegressor(alpha={penalty} / 40, {common})", "real", oracle.squared),
    "descent classifier": (
        "SGDClassifier(loss='log_loss', alpha={penalty} / 40, {classes}{common})",
        "two",
        oracle.logistic,
    ),
    "descent of three": ("SGDClassifier(loss='log_loss', alpha={penalty} / 40, {common})", "three", oracle.logistic),
    "descent squared": (
        "SGDClassifier(loss='squared_error', alpha={penalty} / 40, {classes}{common})",
        "two",
        oracle.squared,
    ),
}
_NEWTON = ("newton-cholesky", "lbfgs")
_SOLVERS: dict[str, tuple[str, ...]] = {
    "ridge": ("auto", "svd", "cholesky", "lsqr"),
    "logistic": ("lbfgs", "newton-cholesky", "newton-cg", "liblinear"),
    "softmax": ("lbfgs", "newton-cholesky", "newton-cg"),
    "poisson": _NEWTON,
    "gamma": _NEWTON,
    "tweedie": _NEWTON,
}
_TIGHT = {"ridge": "tol=1e-10, ", "logistic": "tol=1e-8, max_iter=10000, ", "softmax": "tol=1e-8, max_iter=10000, "}
# Steps before the model, by the columns that they need.
_NUMBER_STEPS: dict[str, tuple[str, ...]] = {
    "none": (),
    "standard": ("StandardScaler()",),
    "standard, not centered": ("StandardScaler(with_mean=False)",),
    "minmax": ("MinMaxScaler((-1, 2))",),
    "robust": ("RobustScaler()",),
    "maxabs": ("MaxAbsScaler()",),
    "pca": ("StandardScaler()", "PCA({fewer})"),
    "white": ("StandardScaler()", "PCA({fewer}, whiten=True)"),
    "svd": ("StandardScaler(with_mean=False)", "TruncatedSVD({fewer}, random_state=0)"),
    "selected": ("VarianceThreshold()", "SelectKBest(lambda a, b: np.arange(a.shape[1]) * 1.0, k={fewer})"),
    "union": ("FeatureUnion([('a', StandardScaler()), ('b', PCA(1))], transformer_weights={{'a': 2.0, 'b': 0.25}})",),
}
_CATEGORY_STEPS: dict[str, tuple[str, ...]] = {
    "encoded": ("ColumnTransformer([('k', {encoder}, {category})], remainder='passthrough')",),
    "scaled and encoded": (
        "ColumnTransformer([('n', StandardScaler(), {numbers}), ('k', {encoder}, {category})], "
        "transformer_weights={{'n': 1.5}})",
        "MaxAbsScaler()",
    ),
    "nested": (
        "ColumnTransformer([('n', Pipeline([('r', RobustScaler()), ('p', PCA())]), {numbers}), "
        "('k', Pipeline([('o', {dense}), ('s', StandardScaler())]), {category}), ('d', 'drop', {first})])",
    ),
    "encoded twice": (
        "ColumnTransformer([('a', OneHotEncoder(drop='first'), {category}), ('b', {encoder}, {category}), "
        "('n', 'passthrough', {numbers})])",
    ),
}
_MISSING_STEPS: dict[str, tuple[str, ...]] = {
    "mean": ("SimpleImputer()",),
    "median, then scaled": ("SimpleImputer(strategy='median')", "StandardScaler()"),
    "constant": ("SimpleImputer(strategy='constant', fill_value=1.5)", "StandardScaler()"),
    "most frequent": ("SimpleImputer(strategy='most_frequent')",),
    "indicated": ("SimpleImputer(add_indicator=True)", "StandardScaler()"),
    "by a number": ("SimpleImputer(missing_values=-999)", "MinMaxScaler()"),
}


@dataclass(frozen=True)
class Setting:
    """One model with its data and a question; the defaults are the plainest."""

    seed: int = 0
    family: str = "ridge"
    steps: str = "none"
    rows: int = 30
    columns: int = 3
    levels: int = 0
    """Of the categorical column; 0 if there is none."""
    drop: str | None = None
    rare: bool = False
    """Whether the encoder puts rare levels together."""
    design: str = "normal"
    scales: float = 0.0
    """Columns are multiplied by up to ten to this power, or its inverse."""
    offset: float = 0.0
    """The mean of a column in its standard deviations."""
    container: str = "numpy"
    weights: str | None = None
    class_weight: str | None = None
    labels: str = "codes"
    intercept: bool = True
    penalty: float = 1.0
    solver: int = 0
    tight: bool = False
    private: int = 0
    """How many of the columns are private, from the last; 0 for all that reach the model."""
    public_label: bool = False
    noise: float = 1.0
    covariance: bool = False

    @property
    def outcome(self) -> str:
        return _FAMILIES[self.family][1]

    @property
    def descends(self) -> bool:
        """Whether scikit-learn's solver only comes near, so that the exact fit is asked for."""
        return self.family.startswith("descent")

    @property
    def names(self) -> tuple[str, ...]:
        """What results call the columns of X."""
        numbers = [f"c{j}" for j in range(self.columns)]
        if self.container in ("pandas", "polars"):
            return (*numbers, "k") if self.levels else tuple(numbers)
        if self.container == "numbered":
            return tuple(str(j) for j in range(self.columns))
        return tuple(f"x{j}" for j in range(self.columns + (self.levels > 0)))

    def simpler(self) -> list["Setting"]:
        """Return settings that differ from this one by a plainer choice."""
        plain = Setting()
        kept = ("seed", "rows", "columns")
        found = [replace(self, **{f.name: getattr(plain, f.name)}) for f in fields(self) if f.name not in kept]
        found += [replace(self, steps="none", levels=0, container="numpy", drop=None, rare=False)]
        found += [replace(self, rows=r) for r in (3, 5, 8, 12) if r < self.rows]
        found += [replace(self, columns=c) for c in (1, 2) if c < self.columns]
        return [each for each in found if each != self and each.is_possible()]

    def is_possible(self) -> bool:
        """Whether the choices go together."""
        if (self.steps in _CATEGORY_STEPS) != (self.levels > 0):
            return False
        if self.levels and self.container not in ("pandas", "polars", "objects"):
            return False
        if self.container == "objects" and not self.levels:
            return False
        if self.steps in _MISSING_STEPS and self.container not in ("numpy", "pandas", "polars"):
            return False
        if self.design in ("balanced", "binary") and (self.scales or self.offset):
            return False
        if self.container in ("integers", "bool") and self.design not in ("integers", "binary"):
            return False
        if self.container == "bool" and self.design != "binary":
            return False
        if self.container == "sparse" and (self.steps not in ("none", "maxabs") or self.scales or self.offset):
            return False
        if self.rows < 2 * self.columns + 2 * self.levels and self.outcome in ("two", "three", "count", "far"):
            return False
        if self.rows <= self.columns + self.levels + 2 and self.family == "linear":
            return False
        if self.steps == "svd" and self.columns < 2:
            return False
        return self.rows >= 3 + self.levels

    def program(self) -> str:
        """Return the program that fits and measures, without its imports."""
        return "\n".join([*self._data(), *self._fit(), *self._question()])

    def _data(self) -> list[str]:
        n, p = self.rows, self.columns
        lines = [f"n, p, random = {n}, {p}, np.random.default_rng({self.seed})"]
        lines.append(
            {
                "normal": "N = random.normal(size=(n, p))",
                "balanced": "N = 2.0 * np.resize(np.array(list(np.ndindex(*[2] * p))), (n, p)) - 1",
                "integers": "N = random.integers(-2, 3, size=(n, p)) + 0.0; N[:2] = [[-2.0], [2.0]]",
                "binary": "N = random.integers(2, size=(n, p)) + 0.0; N[:2] = [[0.0], [1.0]]",
                "repeated": "N = random.normal(size=(n // 2 + 1, p))[random.integers(n // 2 + 1, size=n)]",
            }[self.design]
        )
        if self.scales or self.offset:
            lines.append(f"N = (N + {self.offset}) * 10 ** random.uniform(-{self.scales}, {self.scales}, size=p)")
        if self.container == "float32":
            lines.append("N = N.astype(np.float32)")
        lines.append("m = 0.7 * ((N - N.mean(0)) / (N.std(0) + 1e-300)) @ random.normal(size=p) / np.sqrt(p)")
        lines.append(_OUTCOMES[self.outcome])
        if self.outcome in ("two", "three") and self.labels != "codes":
            given = {"text": "'no', 'yes', 'maybe'", "numbers": "3.0, -1.0, 7.0", "bool": "False, True, True"}
            lines.append(f"y = np.array([{given[self.labels]}])[y]")
        if self.levels:
            lines.append(f"k = random.choice({list(_COLORS[: self.levels])}, size=n)")
            lines.append(f"k[:{self.levels}] = {list(_COLORS[: self.levels])}")
        if self.steps in _MISSING_STEPS:
            lines.append("missing = random.random((n, p)) < 0.15; missing[:3] = False; missing[3, 0] = True")
            lines.append(f"N[missing] = {'-999.0' if self.steps == 'by a number' else 'np.nan'}")
        names = [f"c{j}" for j in range(p)]
        lines.append(
            {
                "numpy": "X = N",
                "float32": "X = N",
                "integers": "X = N.astype(int)",
                "bool": "X = N > 0",
                "sparse": "X = sparse.csr_array(N)",
                "objects": "X = np.column_stack([N.astype(object), k])" if self.levels else "X = N.astype(object)",
                "pandas": f"X = pd.DataFrame(N, columns={names})",
                "numbered": "X = pd.DataFrame(N)",
                "polars": f"X = pl.DataFrame(dict(zip({names}, N.T)))",
            }[self.container]
        )
        if self.levels and self.container == "pandas":
            lines.append("X['k'] = k")
        if self.levels and self.container == "polars":
            lines.append("X = X.with_columns(k=k)")
        if self.weights is not None:
            lines.append("w = random.gamma(2, size=n)" if self.weights != "counts" else "w = random.integers(1, 4, n)")
            if self.weights == "zeros":
                lines.append("w[3:][random.random(n - 3) < 0.2] = 0")
        return lines

    def _fit(self) -> list[str]:
        steps = [f"('{chr(97 + i)}', {step})" for i, step in enumerate(self._steps())]
        given = "" if self.weights is None else f", {'model__' if steps and not self.descends else ''}sample_weight=w"
        if self.descends:
            if not steps:
                return [f"model = seepage.engines.fit({self._estimator()}, X, y{given})"]
            return [
                f"before = Pipeline([{', '.join(steps)}]).fit(X, y)",
                f"model = seepage.engines.fit(Pipeline([*before.steps, ('model', {self._estimator()})]), X, y{given})",
            ]
        if not steps:
            return [f"model = {self._estimator()}.fit(X, y{given})"]
        return [f"model = Pipeline([{', '.join(steps)}, ('model', {self._estimator()})]).fit(X, y{given})"]

    def _steps(self) -> list[str]:
        by_name = self.container in ("pandas", "polars")
        listed: list[Any] = list(self.names) if by_name else list(range(len(self.names)))
        options = [f"drop={self.drop!r}"] if self.drop else []
        if self.rare:
            options.append("min_frequency=0.15")
        words = {
            "fewer": max(self.columns - 1, 1),
            "numbers": listed[: self.columns],
            "category": listed[self.columns :],
            "first": listed[:1],
            "encoder": f"OneHotEncoder({', '.join(options)})",
            "dense": f"OneHotEncoder({', '.join([*options, 'sparse_output=False'])})",
        }
        return [step.format(**words) for step in {**_NUMBER_STEPS, **_CATEGORY_STEPS, **_MISSING_STEPS}[self.steps]]

    def _estimator(self) -> str:
        solvers = _SOLVERS.get(self.family, ("",))
        solver = solvers[self.solver % len(solvers)]
        settings = f"solver='{solver}', " if self.solver % len(solvers) else ""
        if self.family in _SOLVERS:
            settings += _TIGHT.get(self.family, "tol=1e-8, max_iter=10000, ") if self.tight else ""
        classes = ""
        if self.class_weight == "balanced":
            classes = "class_weight='balanced', "
        elif self.class_weight == "given":
            classes = f"class_weight={self._given_weights()!r}, "
        common = "" if self.intercept else "fit_intercept=False"
        written = _FAMILIES[self.family][0].format(
            penalty=self.penalty, solver=settings, classes=classes, common=common
        )
        return written.replace(", )", ")")

    def _given_weights(self) -> dict[Any, float]:
        return {self._classes()[0]: 2.0, self._classes()[1]: 0.5}

    def _classes(self) -> list[Any]:
        listed: dict[str, list[Any]] = {
            "codes": [0, 1, 2],
            "text": ["no", "yes", "maybe"],
            "numbers": [3.0, -1.0, 7.0],
            "bool": [False, True],
        }
        return sorted(listed[self.labels][: 2 if self.outcome == "two" else 3])

    def _question(self) -> list[str]:
        options = ["noise_scale=noise"]
        if self.weights is not None:
            options.append("sample_weight=w")
        if self.public_label:
            options.append("public_label=True")
        if self.private:
            options.append(f"attributes={list(self.names[-self.private :])}")
        # The oracle takes preprocessing as it is; the whole procedure has an oracle of its own.
        steps = " ".join((_NUMBER_STEPS | _CATEGORY_STEPS | _MISSING_STEPS)[self.steps])
        known = [name.lower() for name in ("StandardScaler", "SimpleImputer") if name in steps]
        if known:
            options.append(f"public_preprocessing={known}")
        lines = []
        if self.covariance:
            lines.append("size = np.size(model[-1].coef_)" if self.steps != "none" else "size = np.size(model.coef_)")
            if self.intercept:
                lines[-1] += f" + {self._outputs()}"
            lines.append("mix = random.normal(size=(size, size))")
            lines.append(f"cov = {self.noise**2!r} * (mix @ mix.T + 0.3 * np.eye(size))")
            lines.append("noise = seepage.release.GaussianNoise(covariance=cov)")
        else:
            lines.append(f"noise = {self.noise!r}")
        return [*lines, f"leak = seepage.measure(model, X, y, {', '.join(options)})"]

    def _outputs(self) -> int:
        return {"pair": 2, "three": 3}.get(self.outcome, 1)

    def expected(self, ran: dict[str, Any]) -> Expected:
        """Return the answers, from what the program left behind."""
        model, n = ran["model"], self.rows
        before, estimator = (None, model) if self.steps == "none" else (model[:-1], model[-1])
        features = _dense(ran["X"] if before is None else before.transform(ran["X"]))
        labels, weights, directions = self._coded(ran["y"], np.asarray(ran.get("w", np.ones(n)), dtype=np.longdouble))
        count = labels.shape[1]
        penalty = np.zeros((features.shape[1], count), dtype=np.longdouble)
        penalty[:] = self._strength(weights, n)
        if self.intercept:
            features = np.column_stack([features, np.ones(n)])
            last = penalty[:1] * (_liblinear(estimator))
            penalty = np.vstack([penalty, last])
        matrix, coordinates = self._map(before, features.shape[1])
        if not penalty[: features.shape[1] - self.intercept].any():
            penalty, matrix, coordinates = oracle.least_norm(features, penalty, matrix, coordinates, self.intercept)
        start = np.atleast_2d(estimator.coef_).T
        if self.intercept:
            start = np.vstack([start, np.broadcast_to(np.asarray(estimator.intercept_), (1, count))])
        objective = Objective(
            _FAMILIES[self.family][2], features, labels, weights, penalty, shared=self.family == "softmax"
        )
        size = start.size
        whitening = np.eye(size) / self.noise
        if self.covariance:
            whitening = np.linalg.inv(np.linalg.cholesky(ran["cov"]))
        reached = [name for name in self.names if any(name == other for other, _ in coordinates)]
        private = self.names[-self.private :] if self.private else reached
        known = {}
        if self.steps in _MISSING_STEPS:
            known = {name: ~ran["missing"][:, j] for j, name in enumerate(self.names) if ran["missing"][:, j].any()}
        return Expected(
            objective,
            start,
            matrix,
            coordinates,
            tuple(private),
            None if self.public_label else directions,
            whitening,
            {name: who for name, who in known.items() if name in private},
        )

    def _coded(
        self, y: NDArray[Any], weights: NDArray[Any]
    ) -> tuple[NDArray[np.longdouble], NDArray[np.longdouble], NDArray[Any]]:
        """Return labels as numbers, weights with those of the classes, and the directions of a label."""
        if self.outcome not in ("two", "three"):
            labels = np.asarray(y, dtype=np.longdouble).reshape(len(y), -1)
            return labels, weights, np.eye(labels.shape[1])
        classes = self._classes()
        at = np.array([classes.index(label) for label in y.tolist()])
        low, high = (-1.0, 1.0) if _FAMILIES[self.family][2] is oracle.squared else (0.0, 1.0)
        labels = np.where(at[:, None] == ([1] if len(classes) == 2 else np.arange(3)), high, low)
        if self.class_weight == "balanced":
            # LogisticRegression balances weights, the others count rows.
            by = weights if self.family in ("logistic", "softmax") else np.ones(len(y))
            base = np.bincount(at, np.asarray(by, dtype=np.float64))
            weights = weights * (base.sum() / (len(base) * base))[at]
        elif self.class_weight == "given":
            weights = weights * np.array([self._given_weights().get(label, 1.0) for label in classes])[at]
        directions = np.eye(labels.shape[1])
        if self.family == "softmax":
            # Only differences of classes matter: two orthonormal directions that sum to zero.
            directions = np.linalg.qr(np.eye(3) - 1 / 3)[0][:, :2].T
        return labels.astype(np.longdouble), weights.astype(np.longdouble), directions

    def _strength(self, weights: NDArray[Any], n: int) -> Any:
        if self.family == "linear":
            return 0.0
        if self.family == "two ridges":
            return [self.penalty, 3.0]
        if self.descends:
            return self.penalty / 40 * n
        if self.family in ("poisson", "gamma") or self.family.startswith("tweedie"):
            return self.penalty / 10 * weights.sum()
        return self.penalty if self.outcome == "real" or self.family.startswith("ridge") else 1 / (1 / self.penalty)

    def _map(self, before: Any, p: int) -> tuple[NDArray[np.longdouble], tuple[tuple[str, int], ...]]:
        """Return T and its coordinates: numbers, and levels that some feature tells apart."""
        levels = tuple(sorted(_COLORS[: self.levels]))
        size = self.columns + len(levels)
        basis = np.vstack([np.eye(size), np.zeros(size)]).astype(np.longdouble)
        columns = [Column(basis[:, j]) for j in range(self.columns)]
        if levels:
            columns.append(Column(basis[:, self.columns :], levels))
        after = np.array([column.values for column in oracle.push(before, columns)])
        moved = after[:, :-1] - after[:, -1:]
        kept: list[int] = []
        coordinates: list[tuple[str, int]] = []
        for j in range(size):
            name, level = self.names[min(j, self.columns)], max(j - self.columns, 0)
            twin = j >= self.columns and any((moved[:, i] == moved[:, j]).all() for i in kept if i >= self.columns)
            # A turned column counts even where its share happens to be zero.
            if (moved[:, j].any() or self.steps in ("pca", "white", "svd")) and not twin:
                kept.append(j)
                coordinates.append((name, level))
        found = np.zeros((p, len(kept)), dtype=np.longdouble)
        found[: len(moved)] = moved[:, kept]
        return found, tuple(coordinates)

    def relabeled(self, ran: dict[str, Any], expected: Expected, person: int, label: Any) -> Objective:
        """Return the objective with another label of one person."""
        y = np.array(ran["y"])
        y[person] = label
        labels, weights, _ = self._coded(y, np.asarray(ran.get("w", np.ones(self.rows)), dtype=np.longdouble))
        penalty = expected.objective.penalty
        return replace(expected.objective, labels=labels, weights=weights, penalty=penalty)

    def recolored(self, ran: dict[str, Any], expected: Expected, person: int, level: str) -> Objective:
        """Return the objective with another category of one person."""
        numbers = np.asarray(ran["N"], dtype=np.longdouble)
        other = int(np.flatnonzero(ran["k"] == level)[0])
        features = expected.objective.features[other].copy()
        # Somebody else's features who has it, without what their numbers contribute.
        for j, (name, _) in enumerate(expected.coordinates):
            if name != self.names[-1]:
                column = self.names.index(name)
                features -= expected.map[:, j] * (numbers[other, column] - numbers[person, column])
        return expected.with_features(person, features)


def _liblinear(estimator: Any) -> float:
    return 1.0 if getattr(estimator, "solver", None) == "liblinear" else 0.0


def _dense(table: Any) -> NDArray[np.longdouble]:
    if sparse.issparse(table):
        table = table.toarray()
    return np.array(table.to_numpy() if hasattr(table, "to_numpy") else table, dtype=np.longdouble)


def draw(seed: int, number: int) -> Setting:
    """Return one setting of a reproducible series."""
    random = np.random.default_rng([seed, number])

    def pick(*options: Any) -> Any:
        return options[int(random.integers(len(options)))]

    def often(share: float) -> bool:
        return bool(random.random() < share)

    while True:
        family = pick(*_FAMILIES)
        kind = pick("numbers", "numbers", "categories", "missing")
        steps = pick(*{"numbers": _NUMBER_STEPS, "categories": _CATEGORY_STEPS, "missing": _MISSING_STEPS}[kind])
        outcome = _FAMILIES[family][1]
        levels = pick(2, 3, 4, 5) if kind == "categories" else 0
        columns = pick(1, 2, 3, 4)
        wide = often(0.1) and family != "linear" and outcome == "real"
        design = pick("normal", "normal", "normal", "balanced", "integers", "binary", "repeated")
        container = pick(*("numpy", "pandas", "polars", "float32", "integers", "bool", "sparse", "objects", "numbered"))
        plain = design in ("balanced", "binary") or family == "tweedie identity"
        setting = Setting(
            seed=int(random.integers(2**31)),
            family=family,
            steps=steps,
            rows=int(random.integers(3 + levels, 8)) if wide and levels < 4 else int(random.integers(20, 41)),
            columns=pick(8, 12) if wide else columns,
            levels=levels,
            drop=pick(None, "first", "if_binary"),
            rare=often(0.3),
            design=design,
            scales=0.0 if plain or often(0.6) else pick(1.0, 3.0),
            offset=0.0 if plain or often(0.7) else pick(1.0, 10.0, 1000.0),
            container=container,
            weights=None if often(0.5) else pick("random", "counts", "zeros"),
            class_weight=pick(None, "balanced", "given") if outcome in ("two", "three") else None,
            labels=pick("codes", "text", "numbers", *(("bool",) if outcome == "two" else ())),
            intercept=family == "tweedie identity" or often(0.75),
            penalty=float(np.round(10 ** random.uniform(-2, 1.5), 3)),
            solver=int(random.integers(4)),
            tight=often(0.5),
            private=0 if often(0.6) else int(random.integers(1, columns + 1)),
            public_label=often(0.4),
            noise=float(np.round(10 ** random.uniform(-3, 2), 4)),
            covariance=often(0.3),
        )
        if family == "descent of three":
            setting = replace(setting, class_weight=None)
        if kind != "categories":
            setting = replace(setting, drop=None, rare=False)
        if outcome not in ("two", "three"):
            setting = replace(setting, labels="codes")
        if setting.is_possible():
            return setting
