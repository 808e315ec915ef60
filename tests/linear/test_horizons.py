"""Survival at horizons against automatic differentiation of a textbook's likelihood and baseline, and against refits.

The oracle writes both event by event over whole risk sets, and shares nothing with the sums that are measured.
"""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from lifelines import CoxPHFitter
from lifelines.datasets import load_rossi
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sksurv.linear_model import CoxPHSurvivalAnalysis

import seepage
from seepage.release._seal import seal_of

RANDOM = np.random.default_rng(11)
N = 50
X = np.column_stack([RANDOM.normal(50.0, 9.0, N), RANDOM.gamma(2.0, 1.0, N), RANDOM.integers(0, 4, N)])
TIME = np.ceil(6 * RANDOM.exponential(np.exp(-(X - X.mean(0)) @ [0.04, -0.5, 0.2])) + 0.01)
EVENT = (TIME < 15) & (RANDOM.random(N) < 0.8)
TIME = np.minimum(TIME, 15.0)
WEIGHTS = RANDOM.uniform(0.4, 2.5, N)
FRAME = pd.DataFrame(X, columns=["age", "dose", "visits"])
HORIZONS = [4.0, 9.5, 15.0]
REFERENCE = {"age": 55.0, "dose": 2.0, "visits": 1.0}


def outcomes(time=TIME, event=EVENT):
    return np.rec.fromarrays([event, time], names="event,time")


class Textbook:
    """A Cox model with Breslow's baseline, as a book writes it, with automatic derivatives."""

    def __init__(self, ties="efron", weights=None, penalty=0.0, standardized=False, time=TIME, event=EVENT):
        self.penalty, self.standardized, self.event = penalty, standardized, torch.tensor(event)
        self.weights = torch.ones(N, dtype=torch.float64) if weights is None else torch.tensor(weights)
        # One line an event: its weight, and who is at risk, the tied people in part; and one line a time, for all.
        lines, weight, times = [], [], np.unique(time[event])
        for t in times:
            at_risk, dying = (time >= t).astype(float), (time == t) & event
            count = int(dying.sum()) if ties == "efron" else 1
            for m in range(count):
                lines.append(at_risk - dying * m / count)
                weight.append(float(self.weights[torch.tensor(dying)].sum()) / count)
        self.lines, self.weight = torch.tensor(np.array(lines)), torch.tensor(weight, dtype=torch.float64)
        self.at_risk = torch.tensor((time >= times[:, None]).astype(float))
        dying = torch.tensor(((time == times[:, None]) & event).astype(float)) @ self.weights
        self.until = torch.tensor((times <= np.array(HORIZONS)[:, None]).astype(float)) * dying

    def objective(self, beta, x):
        margins = x @ beta
        spread = x.var(dim=0, correction=1) if self.standardized else torch.ones(3, dtype=torch.float64)
        fitted = (self.weights * margins * self.event).sum()
        total = (self.weight * torch.log(self.lines @ (self.weights * torch.exp(margins)))).sum()
        return total - fitted + 0.5 * self.penalty * (spread * beta**2).sum()

    def minimizer(self, x):
        beta = torch.zeros(3, dtype=torch.float64)
        for _ in range(12):
            slope = torch.func.grad(self.objective)(beta, x)
            beta = beta - torch.linalg.solve(torch.func.hessian(self.objective)(beta, x), slope)
        return beta

    def baseline(self, beta, x, reference):
        return torch.log(self.until @ (1 / (self.at_risk @ (self.weights * torch.exp((x - reference) @ beta)))))

    def published(self, x, reference):
        beta = self.minimizer(x)
        return torch.cat([beta, self.baseline(beta, x, reference)])

    def jacobian(self, x, reference):
        """All derivatives of all that is published, shape (published, n, columns), by the implicit function."""
        beta = self.minimizer(x)
        hessian = torch.func.hessian(self.objective)(beta, x)
        mixed = torch.func.jacrev(torch.func.grad(self.objective), argnums=1)(beta, x)
        moves = -torch.linalg.solve(hessian, mixed.reshape(3, -1)).reshape(3, *x.shape)
        through, direct = torch.func.jacrev(self.baseline, argnums=(0, 1))(beta, x, reference)
        return torch.cat([moves, direct + torch.einsum("hp,pnc->hnc", through, moves)]).numpy()


SETTINGS = [
    {"ties": ties, "weights": weights, "penalty": penalty, "standardized": standardized}
    for ties, weights, (penalty, standardized) in product(
        ("efron", "breslow"), (None, WEIGHTS), ((0.0, False), (2.0, False), (2.0, True))
    )
]


def _named(setting):
    return "-".join(
        [
            setting["ties"],
            "weighted" * (setting["weights"] is not None),
            f"{setting['penalty']:g}",
            "standardized" * setting["standardized"],
        ]
    )


def _at(setting, rows=FRAME, y=None):
    model = seepage.models.Cox(ties=setting["ties"], penalty=setting["penalty"], standardized=setting["standardized"])
    model.fit(rows, outcomes() if y is None else y, setting["weights"])
    return seepage.models.SurvivalAt(model, horizons=HORIZONS, reference=REFERENCE)


@pytest.mark.parametrize("setting", SETTINGS, ids=_named)
def test_every_number_is_that_of_automatic_differentiation(setting):
    noise = RANDOM.normal(size=(6, 6))
    covariance = noise @ noise.T + np.eye(6)
    x, reference = torch.tensor(X), torch.tensor(list(REFERENCE.values()), dtype=torch.float64)
    book = Textbook(**setting)
    jacobian = book.jacobian(x, reference)
    for given, whitening in (
        (0.3, np.eye(6) / 0.3),
        (seepage.release.GaussianNoise(covariance=covariance), np.linalg.inv(np.linalg.cholesky(covariance))),
    ):
        leak = seepage.measure(
            _at(setting), FRAME, outcomes(), noise_scale=given, sample_weight=setting["weights"], numbers=["visits"]
        )
        np.testing.assert_allclose(
            leak.information.fit.exact, book.published(x, reference).numpy(), rtol=1e-9, atol=1e-10
        )
        moved = np.einsum("qp,pnc->nqc", whitening, jacobian)
        eta = np.linalg.norm(moved, 2, axis=(1, 2))
        np.testing.assert_allclose(leak.examples["eta"], eta, rtol=1e-8)
        np.testing.assert_allclose(leak.examples["dfil"], np.linalg.norm(moved, axis=(1, 2)) / np.sqrt(3), rtol=1e-8)
        for i, name in enumerate(FRAME.columns):
            np.testing.assert_allclose(
                leak.error_floor()[name], 1 / np.linalg.norm(moved[:, :, i], axis=1), rtol=1e-8, err_msg=name
            )
        some = np.arange(N) < 7
        joint = np.linalg.norm(np.concatenate([*moved[some]], axis=1), 2)
        assert leak.joint(some) == pytest.approx(joint, rel=1e-8)


def test_status_and_time_are_told_by_refits_with_their_baseline():
    leak = seepage.measure(_at(SETTINGS[0]), FRAME, outcomes(), noise_scale=0.3)
    x, reference = torch.tensor(X), torch.tensor(list(REFERENCE.values()), dtype=torch.float64)
    before = Textbook().published(x, reference).numpy()
    status = leak.success_rate("event")
    for row in (0, 7, 21):
        event, times = EVENT.copy(), TIME.copy()
        event[row] ^= True
        after = Textbook(event=event).published(x, reference).numpy()
        assert status["distance"].iloc[row] == pytest.approx(np.linalg.norm(after - before) / 0.3, rel=1e-7)
        distances = []
        for value in (2.0, 12.0):
            times[row] = value
            distances.append(np.linalg.norm(Textbook(time=times).published(x, reference).numpy() - before) / 0.3)
        asked = leak.information.distances("time", [2.0, 12.0]).distance[row]
        np.testing.assert_allclose(asked, distances, rtol=1e-7)


def test_survival_is_that_of_lifelines_and_of_scikit_survival():
    people = load_rossi()
    columns = ["fin", "age", "race", "wexp", "mar", "paro", "prio"]
    reference = dict(zip(columns, (0, 25, 1, 0, 0, 1, 3), strict=True))
    fitted = CoxPHFitter(penalizer=0.1).fit(people, "week", "arrest", fit_options={"precision": 1e-10})
    at = seepage.models.SurvivalAt(fitted, horizons=[26, 52], reference=reference)
    leak = seepage.measure(at, people, noise_scale=1e-9)
    expected = fitted.predict_survival_function(pd.DataFrame([reference]), times=[26, 52]).to_numpy().ravel()
    np.testing.assert_allclose(np.exp(-np.exp(leak.information.fit.exact[-2:])), expected, rtol=1e-7)
    y = np.rec.fromarrays([people["arrest"].astype(bool), people["week"]], names="arrest,week")
    other = CoxPHSurvivalAnalysis(ties="breslow", tol=1e-12).fit(people[columns], y)
    at = seepage.models.SurvivalAt(other, horizons=[26, 52], reference=reference)
    leak = seepage.measure(at, people[columns], y, noise_scale=1e-9)
    [curve] = other.predict_survival_function(pd.DataFrame([reference])[columns])
    np.testing.assert_allclose(np.exp(-np.exp(leak.information.fit.exact[-2:])), curve([26, 52]), rtol=1e-7)


def test_what_is_published_gives_survival_in_raw_units_behind_steps():
    rows = FRAME.assign(ward=np.where(X[:, 0] > 50, "north", "south"))
    steps = make_column_transformer(
        (FunctionTransformer(np.log, feature_names_out="one-to-one"), ["age"]),
        (OneHotEncoder(categories=[["north", "south"]], drop="first"), ["ward"]),
        remainder="passthrough",
    )
    model = make_pipeline(steps, seepage.models.Cox(penalty=1.0)).fit(rows, outcomes())
    reference = {**REFERENCE, "ward": "north"}
    at = seepage.models.SurvivalAt(model, horizons=HORIZONS, reference=reference)
    leak = seepage.measure(at, rows, outcomes(), noise_scale=1e-7)
    publication = seepage.publish(at, rows, outcomes(), noise_scale=1e-7, accept=None)
    exact = leak.information.fit.exact
    row = pd.DataFrame([reference])[rows.columns]
    survival = [publication.estimator.predict(row, horizon=horizon)[0] for horizon in HORIZONS]
    np.testing.assert_allclose(survival, np.exp(-np.exp(exact[-3:])), rtol=1e-4)
    apart = model.predict(rows) - model.predict(row)
    found = publication.estimator.predict(rows, horizon=9.5)
    np.testing.assert_allclose(found, np.exp(-np.exp(exact[-2] + apart)), rtol=1e-3)
    assert publication.certificate.published["parameters"][-3:] == [f"intercept until {h:g}" for h in HORIZONS]
    assert publication.certificate.published["count"] == 8
    assert any("55" in each and "until 4, 9.5, 15" in each for each in publication.certificate.assumptions)


def test_noise_is_drawn_on_every_published_number_and_sealed(tmp_path):
    at, draws = _at(SETTINGS[0]), []
    for _ in range(100):
        publication = seepage.publish(at, FRAME, outcomes(), noise_scale=0.2, accept=None)
        coefficients = publication.estimator.coef_
        draws.append(np.r_[coefficients, publication.estimator.intercept_ + coefficients @ list(REFERENCE.values())])
    exact = seepage.measure(at, FRAME, outcomes(), noise_scale=0.2).information.fit.exact
    draws = (np.array(draws) - exact) / 0.2
    assert np.abs(draws.mean(axis=0)).max() < 5 / np.sqrt(100)
    np.testing.assert_allclose(np.cov(draws.T), np.eye(6), atol=0.8)
    publication.write(tmp_path / "model.skops")
    assert seepage.certify(tmp_path / "model.skops", tmp_path / "model.certificate.json").holds
    publication.estimator.intercept_ = publication.estimator.intercept_ + 1e-3
    assert seal_of(publication.estimator)["parameters"] != publication.certificate.seal["parameters"]


def test_what_cannot_be_is_refused_by_name():
    model = seepage.models.Cox().fit(FRAME, outcomes())
    at = {"horizons": [5.0], "reference": REFERENCE}

    def measured(model=model, y=None, **given):
        wrapped = seepage.models.SurvivalAt(model, **{**at, **given})
        return seepage.measure(wrapped, FRAME, outcomes() if y is None else y, noise_scale=1.0)

    for horizons in ([], [5.0, 4.0], [np.nan], "5"):
        with pytest.raises((seepage.errors.InputError, ValueError)):
            measured(horizons=horizons)
    with pytest.raises(seepage.errors.InputError, match=r"horizon 0\.5: nobody has an event by then"):
        measured(horizons=[0.5])
    with pytest.raises(seepage.errors.InputError, match="horizon 16: nobody was followed for so long"):
        measured(horizons=[16.0])
    with pytest.raises(seepage.errors.InputError, match="reference row has no 'visits'"):
        measured(reference={"age": 1.0, "dose": 2.0})
    with pytest.raises(seepage.errors.InputError, match="names 'sex', which is no column"):
        measured(reference={**REFERENCE, "sex": 1})
    with pytest.raises(seepage.errors.UnsupportedError, match="Ridge is no survival model"):
        measured(model=Ridge().fit(FRAME, TIME))
    strata = np.rec.fromarrays([EVENT, TIME, X[:, 2] > 1], names="event,time,ward")
    with pytest.raises(seepage.errors.UnsupportedError, match="strata"):
        measured(model=seepage.models.Cox().fit(FRAME, strata), y=strata)
    publication = seepage.publish(
        seepage.models.SurvivalAt(model, **at), FRAME, outcomes(), noise_scale=1.0, accept=None
    )
    with pytest.raises(seepage.errors.InputError, match=r"horizon 6.0 is not among those of this model: \[5.0\]"):
        publication.estimator.predict(FRAME, horizon=6.0)
    with pytest.raises(seepage.errors.InputError, match="SurvivalAt"):
        model.predict(FRAME, horizon=6.0)


def test_what_is_published_can_be_named():
    model = seepage.models.Cox().fit(FRAME, outcomes())
    at = seepage.models.SurvivalAt(model, horizons=HORIZONS, reference=REFERENCE)
    for fitted, names in ((model, ["coefficients"]), (at, ["coefficients", "survival"])):
        expected = seepage.measure(fitted, FRAME, outcomes(), noise_scale=0.1).examples
        found = seepage.measure(fitted, FRAME, outcomes(), noise_scale=0.1, published=names).examples
        pd.testing.assert_frame_equal(found, expected)
    with pytest.raises(seepage.errors.InputError, match=r"'survival'; this model has \['coefficients'\]"):
        seepage.measure(model, FRAME, outcomes(), noise_scale=0.1, published=["coefficients", "survival"])
    with pytest.raises(
        seepage.errors.InputError, match=r"leaves out 'survival'.*measure the model that it was made of"
    ):
        seepage.measure(at, FRAME, outcomes(), noise_scale=0.1, published=["coefficients"])
