"""Draw the pictures of the documentation, or every picture that there is, from the public data sets.

`python -m docs.pictures` draws those of the documentation anew; with names and `--output DIR` it draws these, or `all`:
reports as pages (HTML) and as pictures of pages (PNG, by a headless chromium).
"""

import argparse
import contextlib
import io
import re
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot
import numpy as np
from lifelines import CoxPHFitter
from lifelines.datasets import load_rossi
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

import seepage
from experiments.datasets import (
    adult_features,
    complete_adult,
    iwpc_features,
    load_adult,
    load_iwpc,
)
from seepage.display import (
    AttackerKnowledgeDisplay,
    AttributeDisplay,
    BalanceDisplay,
    DistributionDisplay,
    FloorDisplay,
    OverlapDisplay,
)

UNITS = {"age": "years", "hours-per-week": "hours", "education-num": "years", "capital-gain": "$", "capital-loss": "$"}
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


@cache
def adult() -> tuple[Any, Any, Any, seepage.Leakage]:
    """Return UCI Adult, its labels, a logistic regression, and what it gives away."""
    raw = load_adult()
    people, income = complete_adult(raw.data, raw.target)
    people = people.drop(columns="fnlwgt")
    model = make_pipeline(adult_features(people, dropped="first"), LogisticRegression(C=0.1, tol=1e-8, max_iter=1000))
    model.fit(people, income)
    leak = seepage.measure(model, people, income, noise_scale=0.02)
    return people, income, model, leak


@cache
def iwpc() -> tuple[Any, Any, Any, seepage.Leakage]:
    """Return the warfarin data, its doses, a ridge regression, and what it gives away."""
    raw = load_iwpc()
    model = make_pipeline(iwpc_features(load_iwpc(subset="all").data, dropped="first"), Ridge(alpha=1.0))
    model.fit(raw.data, raw.target)
    leak = seepage.measure(model, raw.data, raw.target, noise_scale=0.01)
    return raw.data, raw.target, model, leak


def _distribution() -> Any:
    people, _, _, leak = adult()
    return DistributionDisplay.from_leakage(leak, groups=people["sex"])


def _attributes() -> Any:
    return AttributeDisplay.from_leakage(adult()[3])


def _attributes_iwpc() -> Any:
    return AttributeDisplay.from_leakage(iwpc()[3])


def _floor() -> Any:
    people, income, model, _ = adult()
    leak = seepage.measure(model, people, income, noise_scale=0.0005)
    return FloorDisplay.from_leakage(leak, "age", unit="years")


def _attack() -> Any:
    people, dose, model, _ = iwpc()
    few, doses = people[:400], dose[:400]
    leak = seepage.measure(model.fit(few, doses), few, doses, noise_scale=0.002)
    iwpc.cache_clear()
    return seepage.verify(leak, seepage.attacks.AttributeInversion("age"), trials=300)


def _frontier() -> Any:
    people, dose, model, _ = iwpc()
    test = load_iwpc(subset="test")
    noises = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
    return seepage.release.frontier(
        model, people, dose, test.data, test.target, standard_errors=noises, attribute="age", draws=100, quantile=0.99
    )


def _balances() -> BalanceDisplay:
    """Three teams of one hospital, and the fourth release, which is refused."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    few, patients = X[["age", "sex", "bmi"]], [f"patient {i}" for i in range(len(X))]
    with tempfile.TemporaryDirectory() as folder:
        units, floors = {"age": "years"}, {"age": 10.0}
        ledger = seepage.ledger.Ledger.create(f"{folder}/ledger.db", key=bytes(32), error_floor=floors, units=units)
        for model, rows, labels, noise in (
            (Ridge(), X, y, 1.0),
            (LinearRegression(), few, X["bp"], 0.5),
            (LinearRegression(), few, X["s6"], 0.2),
        ):
            leak = seepage.measure(model.fit(rows, labels), rows, labels, noise_scale=noise, ids=patients)
            ledger.post(leak, title="", units=units)
        again = leak.error_floor()["age"].to_numpy()
        floors = ledger.history(patients)["age"]
    return BalanceDisplay.from_history(
        floors,
        releases=["risk score", "blood pressure", "blood sugar", "blood sugar again"],
        attribute="age",
        promise=10.0,
        refused=(floors[-1] ** -2 + again**-2) ** -0.5,
    )


@cache
def lesson() -> dict[str, Any]:
    """Return what the tutorial has computed when it comes to its report, by running its own blocks."""
    text = (Path(__file__).parents[1] / "tutorial" / "first-hour.md").read_text()
    found: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        if "write_html" in block:
            return found
        with contextlib.redirect_stdout(io.StringIO()):
            exec(block, found)
    raise SystemExit("The tutorial writes no report any more.")


class Hazards:
    """Hazard ratios of a Cox model with their confidence intervals, and those of the noise that protects its people."""

    figure_: Any

    def plot(self) -> "Hazards":
        """Draw them."""
        people = load_rossi()
        steps = {"age": 10.0, "prio": 5.0}
        with warnings.catch_warnings():
            # Of pandas, about how lifelines calls it.
            warnings.simplefilter("ignore", DeprecationWarning)
            fitted = CoxPHFitter(penalizer=0.01).fit(people, "week", "arrest")
        leak = seepage.measure(fitted, people, noise_scale=0.05)
        floors, rates = {"age": 5.0, "prio": 3.0}, {"arrest": 0.75, "mar": 0.75}
        noise = seepage.calibrate(leak, error_floor=floors, success_rate=rates, shape=steps)
        names = list(fitted.params_.index)
        step = np.array([steps.get(name, 1.0) for name in names])
        middle = step * fitted.params_.to_numpy()
        self.figure_, ax = matplotlib.pyplot.subplots(figsize=(6.4, 3.2), layout="constrained")
        spreads = {
            "95% confidence": (step * fitted.standard_errors_.to_numpy(), "C0", 0.12),
            "95% of the noise": (step * np.sqrt(np.diag(noise.known())), "C1", -0.12),
        }
        for called, (spread, color, shift) in spreads.items():
            at = np.arange(len(names)) - shift
            ax.hlines(
                at, *np.exp(middle + 1.96 * np.outer([-1, 1], spread)), color=color, lw=4, alpha=0.6, label=called
            )
            ax.plot(np.exp(middle), at, "o", color=color, ms=4)
        called = [f"{name} (+{steps[name]:g})" if name in steps else name for name in names]
        ax.set_yticks(np.arange(len(names)), called)
        ax.invert_yaxis()
        ax.axvline(1.0, color="0.7", lw=1, zorder=0)
        ax.set_xscale("log")
        ax.set_xticks([0.25, 0.5, 1.0, 2.0], ["0.25", "0.5", "1", "2"])
        ax.minorticks_off()
        ax.set_xlabel("hazard ratio of arrest, for a step of each column")
        ax.legend(frameon=False, fontsize=8, loc="upper right")
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        return self


class Trees:
    """Outcomes that forests of different sizes determine, and people in the leaves of two models."""

    figure_: Any

    def plot(self) -> "Trees":
        """Draw them."""
        X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
        self.figure_, (shares, sizes) = matplotlib.pyplot.subplots(1, 2, figsize=(7.6, 3.0), layout="constrained")
        counts = [1, 3, 5, 8, 10, 12, 15, 20, 25, 30, 40, 60, 80]
        for leaf in (5, 10, 20, 50):
            forest = RandomForestRegressor(min_samples_leaf=leaf, max_features=1 / 3, random_state=0)
            leaks = [seepage.measure(forest.set_params(n_estimators=n).fit(X, y), X, y) for n in counts]
            shares.plot(counts, [100 * leak.share for leak in leaks], ".-", label=f"at least {leaf}")
        shares.set_xlabel("trees")
        shares.set_ylabel("outcomes that come back (%)")
        shares.legend(frameon=False, fontsize=8, title="people in a leaf", title_fontsize=8, loc=(0.66, 0.1))
        boosted = HistGradientBoostingRegressor(min_samples_leaf=1)
        forest = RandomForestRegressor(30, min_samples_leaf=10, max_features=1 / 3, random_state=0)
        for model, name in ((forest, "forest, at least 10"), (boosted, "boosted, at least 1")):
            people = np.sort(seepage.measure(model.fit(X, y), X, y).leaves()["people"])
            sizes.plot(people, 100 * np.arange(1, len(people) + 1) / len(people), label=name)
        sizes.axvline(10, color="0.7", lw=1, zorder=0)
        sizes.set_xscale("log")
        sizes.set_xlabel("different people in a leaf")
        sizes.set_ylabel("leaves with at most so many (%)")
        sizes.legend(frameon=False, fontsize=8)
        for ax in (shares, sizes):
            ax.spines[["top", "right"]].set_visible(False)
        return self


def _known() -> Any:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X = X[["age", "sex", "bmi"]]
    return AttackerKnowledgeDisplay.from_leakage(
        seepage.measure(LinearRegression().fit(X, y), X, y), "bmi", unit="kg/m²"
    )


def _overlap() -> Any:
    """Three outputs of one request, of which two differ by one person."""
    patterns = {("June", "May", "women"): 207, ("June", "May"): 234, ("June",): 1}
    return OverlapDisplay.from_patterns(("June", "May", "women"), patterns, broken=[("June",)])


PICTURES: dict[str, Callable[[], Any]] = {
    "distribution_adult": _distribution,
    "attributes_adult": _attributes,
    "attributes_iwpc": _attributes_iwpc,
    "floor_adult": _floor,
    "attack_iwpc": _attack,
    "frontier_iwpc": _frontier,
    "balances": _balances,
    "known_diabetes": _known,
    "overlap": _overlap,
    "hazards_rossi": Hazards,
    "trees_diabetes": Trees,
    "lesson_attributes": lambda: AttributeDisplay.from_leakage(lesson()["leak"]),
    "lesson_frontier": lambda: lesson()["curve"],
}


def _adult_report(edition: Any) -> Any:
    people, _, _, leak = adult()
    policy = seepage.Policy(error_floor={"age": 5.0, "hours-per-week": 5.0})
    groups = people[["sex", "race"]] if edition == "internal" else None
    return seepage.Report.of(
        leak, edition, policy=policy, groups=groups, units=UNITS, title="Income model on UCI Adult"
    )


def _lesson_report(edition: Any) -> Any:
    found = lesson()
    leak = seepage.measure(found["model"], found["X_train"], found["y_train"], noise_scale=found["scale"])
    groups = {"sex": found["X_train"]["sex"]} if edition == "internal" else None
    return seepage.Report.of(leak, edition, policy=found["targets"], groups=groups, units={"age": "years"})


def _iwpc_report(edition: Any) -> Any:
    people, _, _, leak = iwpc()
    # There is no page for everybody of a release that misses its policy.
    rates = {"vkorc1": 0.6} if edition == "internal" else {}
    policy = seepage.Policy(success_rate=rates, error_floor={"age": 0.5}, quantile=0.99)
    units = dict.fromkeys(("age", "height", "weight"), "standard deviations")
    groups = people["race"] if edition == "internal" else None
    return seepage.Report.of(leak, edition, policy=policy, groups=groups, units=units, title="Warfarin dose on IWPC")


REPORTS: dict[str, Callable[[], Any]] = {
    f"report_{name}_{edition}": lambda make=make, edition=edition: make(edition)
    for name, make in (("adult", _adult_report), ("iwpc", _iwpc_report), ("lesson", _lesson_report))
    for edition in ("internal", "publishable")
}

KEPT = (
    *("distribution_adult", "attributes_iwpc", "balances", "hazards_rossi", "report_adult_internal"),
    "trees_diabetes",
    *("known_diabetes", "overlap", "lesson_attributes", "lesson_frontier", "report_lesson_publishable"),
)


def screenshot(page: Path, picture: Path, *, width: int = 820, height: int = 6400, scale: float = 1.0) -> None:
    """Render a page with a headless chromium, and cut off what is empty below."""
    from PIL import Image, ImageChops

    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        raise SystemExit("chromium is not installed (Debian: apt-get install chromium).")
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, *FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"]
        command += [f"--force-device-scale-factor={scale:g}", f"--screenshot={picture}", page.resolve().as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    with Image.open(picture) as image:
        shown = image.convert("RGB")
        empty = Image.new("RGB", shown.size, shown.getpixel((0, shown.height - 1)))
        bottom = (ImageChops.difference(shown, empty).getbbox() or (0, 0, 0, shown.height))[3]
        shown.crop((0, 0, shown.width, min(bottom + 24, shown.height))).quantize(128).save(picture, optimize=True)


def main() -> None:
    """Draw what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m docs.pictures", description=__doc__)
    names = [*PICTURES, *REPORTS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(names)}, or all (the documentation's)")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, metavar="DIR", help="where they go")
    given = parser.parse_args()
    chosen = names if given.names == ["all"] else given.names or KEPT
    if unknown := sorted(set(chosen) - set(names)):
        parser.error(f"there is no picture {unknown[0]!r}; there are {', '.join(names)}, or all.")
    matplotlib.use("Agg")
    given.output.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        path = given.output / f"{name}.png"
        if name in PICTURES:
            display = PICTURES[name]().plot()
            display.figure_.savefig(path, dpi=160)
            matplotlib.pyplot.close(display.figure_)
        elif given.names:
            page = path.with_suffix(".html")
            REPORTS[name]().write_html(page)
            screenshot(page, path)
        else:
            with tempfile.TemporaryDirectory() as folder:
                page = Path(folder) / "report.html"
                REPORTS[name]().write_html(page)
                screenshot(page, path, height=1120, scale=1.5)
        print(f"{path} ({path.stat().st_size // 1024} kB)")


if __name__ == "__main__":
    main()
