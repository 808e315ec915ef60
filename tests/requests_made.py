"""Requests as researchers hand them in: folders of outputs, each with what it is said to be beside it."""

import numpy as np
import pandas as pd

from seepage.models import Aggregate

RNG = np.random.default_rng(5)
PEOPLE = pd.DataFrame(
    {"id": [f"p{i}" for i in range(500)], "age": RNG.integers(18, 90, 500), "sex": RNG.choice(["F", "M"], 500)}
)
PEOPLE["score"] = np.round(20 + 0.5 * PEOPLE["age"] + RNG.normal(0, 8, 500))


def said(path, **keys):
    """Write the TOML file beside an output."""
    path.with_suffix(".toml").write_text("".join(f"{key} = {_toml(value)}\n" for key, value in keys.items()))


def _toml(value):
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def kept(people, where):
    """Return the people whom a filter keeps, by the query of pandas: another reading of the same words."""
    return people if where is None else people.query(where)


def regression(path, people, formula, family="gaussian", where=None, decimals=4):
    """Fit with statsmodels and write the coefficients as R prints them."""
    # Whoever only checks what others fitted has no statsmodels.
    import statsmodels.formula.api as smf

    rows = kept(people, where)
    fit = smf.ols(formula, rows).fit() if family == "gaussian" else smf.logit(formula, rows).fit(disp=False)
    names = [name.replace("Intercept", "(Intercept)") for name in fit.params.index]
    _written(path, dict(zip(names, fit.params, strict=True)), decimals)
    beside = {} if where is None else {"where": _plain(where)}
    said(path, family=family, formula=formula, **beside)


def line(path, people, x, y, where=None):
    """Fit the line of y on x by least squares, and write it as R prints it."""
    rows = kept(people, where)
    slope, first = np.polyfit(rows[x], rows[y], 1)
    _written(path, {"(Intercept)": first, x: slope}, 4)
    said(path, family="gaussian", formula=f"{y} ~ {x}", **({} if where is None else {"where": _plain(where)}))


def _written(path, coefficients, decimals):
    lines = [f'"{name}",{number:.{decimals}f}' for name, number in coefficients.items()]
    path.with_suffix(".csv").write_text('"","Estimate"\n' + "\n".join(lines) + "\n")


def table(path, people, where=None, decimals=2, **keys):
    """Write a table of means, counts and shares, rounded."""
    made = Aggregate(**keys).fit(kept(people, where)).frame_
    made.round(decimals).to_csv(path.with_suffix(".csv"), index=False)
    beside = {} if where is None else {"where": _plain(where)}
    said(path, **keys, **beside)


def _plain(where):
    return where.replace("'", "").replace('"', "")
