"""Thirty tables as R, Stata, SAS and SPSS print them, from fits by statsmodels: none of these programs is here."""

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from lifelines import CoxPHFitter

import seepage
from seepage.models import ModelTable

RANDOM = np.random.default_rng(5)
N = 400
PEOPLE = pd.DataFrame(
    {
        "age": RANDOM.uniform(20.0, 80.0, N).round(),
        "dose": RANDOM.gamma(3.0, 1.0, N) + 0.1,
        "ward": RANDOM.choice(["east", "north", "south"], N),
        "sex": RANDOM.choice(["female", "male"], N),
    }
)
ODDS = 0.04 * (PEOPLE["age"] - 50) + np.log(PEOPLE["dose"]) - 1 + 0.8 * (PEOPLE["ward"] == "north")
PEOPLE["ill"] = (RANDOM.random(N) < 1 / (1 + np.exp(-ODDS))).astype(int)
PEOPLE["cost"] = 100 + 12 * ODDS + RANDOM.normal(0, 9, N)
PEOPLE["visits"] = RANDOM.poisson(np.exp(0.4 * ODDS))
PEOPLE["week"], PEOPLE["died"] = RANDOM.exponential(np.exp(-ODDS / 2)) + 0.01, (RANDOM.random(N) < 0.7).astype(int)


def fitted(family, formula, **others):
    """Return what a table needs: the settings of ours, and the numbers of a fit by others, by R's names."""
    patsy = re.sub(r"\blog\(", "np.log(", formula).replace("^", "**")
    if family == "cox":
        fit = CoxPHFitter().fit(
            PEOPLE[["age", "dose", "week", "died"]], "week", "died", fit_options={"precision": 1e-12}
        )
        b, s = fit.params_, fit.standard_errors_
    else:
        make = {"gaussian": smf.ols, "binomial": smf.logit, "poisson": smf.poisson}[family]
        fit = make(patsy, PEOPLE).fit(**({} if family == "gaussian" else {"disp": 0, "tol": 1e-12}))
        b, s = fit.params, fit.bse
    names = [re.sub(r"C\((\w+)[^)]*\)+", r"\1", name).replace("Intercept", "(Intercept)") for name in b.index]
    names = [re.sub(r"\[[TS]\.(.*?)\]", r"\1", name).replace("np.", "") for name in names]
    found = pd.DataFrame({"term": names, "b": b.to_numpy(), "s": s.to_numpy()})
    if family == "cox":
        p, ends = fit.summary["p"], fit.confidence_intervals_
    else:
        p, ends = fit.pvalues, fit.conf_int()
    found["z"], found["p"] = found["b"] / found["s"], p.to_numpy()
    found["low"], found["high"] = ends.to_numpy().T
    return {"formula": formula, "family": family, **others}, found


LOGIT = fitted("binomial", "ill ~ age + log(dose) + ward")
SMALL = fitted("binomial", "ill ~ age + log(dose)")
SQUARE = fitted("binomial", "ill ~ age + I(age^2) + sex + age:sex")
LINEAR = fitted("gaussian", "cost ~ age + dose + ward")
COUNTS = fitted("poisson", "visits ~ age + sex")
COX = fitted("cox", "Surv(week, died) ~ age + dose")
LAST = fitted("binomial", 'ill ~ age + C(ward, Treatment("south"))')
EFFECTS = fitted("binomial", "ill ~ age + C(ward, Sum)")
LINEAR_LAST = fitted("gaussian", 'cost ~ age + C(ward, Treatment("south"))')


def text(rows, mark=",", comma=False, quoted=True):
    """Return rows as CSV."""
    file = io.StringIO()
    rows = [
        [str(cell).replace(".", ",") if comma and re.search(r"\d\.\d", str(cell)) else cell for cell in r] for r in rows
    ]
    csv.writer(file, delimiter=mark, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL).writerows(rows)
    return file.getvalue()


def number(form="{:.4f}"):
    return lambda value: form.format(value)


def stars(p):
    return "***" if p < 0.01 else "**" if p < 0.05 else "*" if p < 0.1 else ""


def r_summary(table, heads=("Estimate", "Std. Error", "z value", "Pr(>|z|)"), form="{:.7g}"):
    return [["", *heads], *([r.term, *map(number(form), (r.b, r.s, r.z, r.p))] for r in table.itertuples())]


def tidy(table, exponentiate=False, numbered=False, form="{:.6g}"):
    made = [["term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high"]]
    to = np.exp if exponentiate else float
    for r in table.itertuples():
        made.append([r.term, *map(number(form), (to(r.b), r.s, r.z, r.p, to(r.low), to(r.high)))])
    return [[str(i) if i else "", *row] for i, row in enumerate(made)] if numbered else made


def stacked(tables, below, names=None, foot=(), form="{:.3f}", to=float, wrap="{}"):
    """Return estimates with stars, and something below each: as stargazer, modelsummary and esttab have it."""
    names = names or {}
    terms = list(dict.fromkeys(term for table in tables for term in table["term"]))
    made = [["", *(f"({i})" for i in range(1, len(tables) + 1))]]
    for term in terms:
        rows = [table[table["term"] == term] for table in tables]
        made.append([names.get(term, term)])
        made[-1] += ["" if r.empty else wrap.format(form.format(to(r.b.item())) + stars(r.p.item())) for r in rows]
        made.append(["", *("" if r.empty else wrap.format(below(r.iloc[0])) for r in rows)])
    return [*made, *([name, *[value] * len(tables)] for name, value in foot)]


def error(r):
    return f"({r.s:.3f})"


FOOT = [("Observations", "400"), ("Log Likelihood", "-187.131"), ("Akaike Inf. Crit.", "384.262"), ("Note:", "*p<0.1")]
CONS = {"(Intercept)": "_cons", "wardnorth": "2.ward", "wardsouth": "3.ward", "log(dose)": "log_dose"}
ESTTAB = '="{}"'


def modelsummary(table):
    rows = [["part", "term", "statistic", "(1)"]]
    for r in table.itertuples():
        rows += [["estimates", r.term, "estimate", f"{r.b:.3f}"], ["estimates", r.term, "std.error", f"({r.s:.3f})"]]
    return [*rows, ["gof", "Num.Obs.", "", "400"], ["gof", "AIC", "", "384.3"]]


def one_line(table):
    return [["", "(1)"], *([r.term, f"{r.b:.3f} [{r.low:.3f}, {r.high:.3f}]"] for r in table.itertuples())]


def wide(table):
    made = [["", "(1)", ""], ["", "ill", ""]]
    return made + [[CONS.get(r.term, r.term), f"{r.b:.4f}{stars(r.p)}", f"({r.s:.4f})"] for r in table.itertuples()]


def estout(table, cells):
    made = [["", "."], ["", cells]]
    for r in table.itertuples():
        made += [["" if i else r.term, f"{getattr(r, cell):.6f}"] for i, cell in enumerate(cells.split("/"))]
    return made


def stata_log(table):
    lines = ["-" * 78, "         ill | Coefficient  Std. err.      z    P>|z|     [95% conf. interval]", "-" * 78]
    for r in table.itertuples():
        name = {"(Intercept)": "_cons", "I(age**2)": "c.age#c.age"}.get(r.term, r.term)
        lines.append(f"{name:>12} |  {r.b:.6f}   {r.s:.6f}   {r.z:.2f}   {r.p:.3f}    {r.low:.6f}    {r.high:.6f}")
    return "\n".join(lines) + "\n"


def stargazer_text(table):
    made = [
        f"{name:<30}{value:<20}".rstrip() for name, value in stacked([table], error, {"(Intercept)": "Constant"}, FOOT)
    ]
    return "\n".join(["=" * 50, *made, "=" * 50]) + "\n"


def p_sas(p):
    return "<.0001" if p < 0.0001 else f"{p:.4f}".removeprefix("0")


def sas_logistic(table, levels=True):
    made = [["Parameter", "Level", "DF", "Estimate", "Standard Error", "Wald Chi-Square", "Pr > ChiSq"]]
    for r in table.itertuples():
        column, level = ("ward", r.term[4:]) if r.term.startswith("ward") else (r.term.strip("()"), "")
        made.append([column, level, "1", f"{r.b:.4f}", f"{r.s:.4f}", f"{r.z**2:.4f}", p_sas(r.p)])
    return made


def sas_odds(table):
    made = [["Effect", "Point Estimate", "95% Wald", "Confidence Limits"]]
    for r in table.iloc[1:].itertuples():
        name = f"ward {r.term[4:]} vs south" if r.term.startswith("ward") else r.term
        made.append([name, *(f"{np.exp(value):.3f}" for value in (r.b, r.low, r.high))])
    return made


def sas_reg(table):
    made = [["Variable", "DF", "Parameter Estimate", "Standard Error", "t Value", "Pr > |t|"]]
    rows = table.itertuples()
    return made + [[r.term, "1", f"{r.b:.5f}", f"{r.s:.5f}", f"{r.z:.2f}", p_sas(r.p)] for r in rows]


def spss_logistic(table):
    made = [["Variables in the Equation"], ["", "", "B", "S.E.", "Wald", "df", "Sig.", "Exp(B)", "Lower", "Upper"]]
    names = {"(Intercept)": "Constant", "wardeast": "ward(1)", "wardnorth": "ward(2)"}
    for i, r in enumerate(table.itertuples()):
        values = [f"{value:.3f}" for value in (r.b, r.s, r.z**2)]
        ends = [f"{np.exp(value):.3f}" for value in (r.b, r.low, r.high)]
        made.append(["Step 1a" if i == 0 else "", names.get(r.term, r.term), *values, "1", f"{r.p:.3f}", *ends])
    return made


def spss_linear(table):
    made = [["Model", "", "B", "Std. Error", "Beta", "t", "Sig.", "Lower Bound", "Upper Bound"]]
    for i, r in enumerate(table.itertuples()):
        beta = f"{0.31 + 0.17 * i:.3f}" if i else ""
        name = {"(Intercept)": "(Constant)"}.get(r.term, r.term)
        values = [f"{value:.3f}" for value in (r.z, r.p, r.low, r.high)]
        made.append(["1" if i == 0 else "", name, f"{r.b:.3f}", f"{r.s:.3f}", beta, *values])
    return made


def ends(r):
    return f"[{r.low:.3f}, {r.high:.3f}]"


def odds_ends(r):
    return f"({np.exp(r.low):.3f}, {np.exp(r.high):.3f})"


T = ("Estimate", "Std. Error", "t value", "Pr(>|t|)")
TABLES = {
    "R coef(summary(glm))": (LOGIT, text(r_summary(LOGIT[1]))),
    "R coef(summary(lm))": (LINEAR, text(r_summary(LINEAR[1], T))),
    "R write.csv2": (LOGIT, text(r_summary(LOGIT[1], form="{:.5f}"), ";", comma=True)),
    "R coef(summary) of a square": (SQUARE, text(r_summary(SQUARE[1], form="{:.5g}"))),
    "R coef(summary(coxph))": (
        COX,
        text(
            [
                ["", "coef", "exp(coef)", "se(coef)", "z", "Pr(>|z|)"],
                *([r.term, *map(number(), (r.b, np.exp(r.b), r.s, r.z, r.p))] for r in COX[1].itertuples()),
            ]
        ),
    ),
    "tidy": (LOGIT, text(tidy(LOGIT[1]), quoted=False)),
    "tidy of lm, numbered": (LINEAR, text(tidy(LINEAR[1], numbered=True))),
    "tidy, exponentiated": (LOGIT, text(tidy(LOGIT[1], exponentiate=True))),
    "tidy of counts, semicolons": (COUNTS, text(tidy(COUNTS[1], form="{:.4f}"), ";", comma=True, quoted=False)),
    "stargazer": (LOGIT, text(stacked([LOGIT[1]], error, {"(Intercept)": "Constant"}, FOOT))),
    "stargazer, text": (LOGIT, stargazer_text(LOGIT[1])),
    "stargazer, two models": (LOGIT, text(stacked([LOGIT[1], SMALL[1]], error, foot=FOOT))),
    "stargazer, the other model": (SMALL, text(stacked([LOGIT[1], SMALL[1]], error, foot=FOOT))),
    "stargazer, p below": (LINEAR, text(stacked([LINEAR[1]], lambda r: f"p = {r.p:.3f}", foot=FOOT))),
    "modelsummary": (LOGIT, text(modelsummary(LOGIT[1]), quoted=False)),
    "modelsummary, intervals": (LOGIT, text(stacked([LOGIT[1], LAST[1]], ends, foot=[("Num.Obs.", "400")]))),
    "modelsummary, odds ratios": (SQUARE, text(stacked([SQUARE[1]], odds_ends, to=np.exp, form="{:.4f}"))),
    "modelsummary, one line": (LINEAR, text(one_line(LINEAR[1]))),
    "esttab": (
        SMALL,
        text(stacked([SMALL[1]], lambda r: f"({r.z:.2f})", CONS, [("N", ESTTAB.format(400))], wrap=ESTTAB)),
    ),
    "esttab, two models, se": (LINEAR, text(stacked([LINEAR[1], LINEAR_LAST[1]], error, wrap=ESTTAB))),
    "esttab, eform, ci": (COUNTS, text(stacked([COUNTS[1]], odds_ends, {"(Intercept)": "_cons"}, to=np.exp), ";")),
    "esttab, wide": (SMALL, text(wide(SMALL[1]), "\t", quoted=False)),
    "estout": (LINEAR, text(estout(LINEAR[1], "b"), "\t", quoted=False)),
    "estout, b se p": (LOGIT, text(estout(LOGIT[1], "b/s/p"), "\t", quoted=False)),
    "Stata's log": (SQUARE, stata_log(SQUARE[1])),
    "SAS logistic, effects": (EFFECTS, text(sas_logistic(EFFECTS[1]))),
    "SAS odds ratios": (LAST, text(sas_odds(LAST[1]))),
    "SAS reg": (LINEAR, text(sas_reg(LINEAR[1]))),
    "SPSS logistic": (LAST, text(spss_logistic(LAST[1]), ";", comma=True)),
    "SPSS linear": (LINEAR_LAST, text(spss_linear(LINEAR_LAST[1]))),
}
FOOTERS = {"Log Likelihood", "-187.131", "Akaike Inf. Crit.", "384.262", "Note:", "*p<0.1"}
# What is no number of the fit: columns of other models, standardized coefficients, footers, and words that are neither.
LISTED = {
    **dict.fromkeys(("stargazer", "stargazer, text", "stargazer, p below"), FOOTERS),
    "stargazer, text": {*FOOTERS, "=" * 49},
    "modelsummary": {"part", "gof", "AIC", "384.3"},
    "SAS odds ratios": {"ward east vs south", "ward north vs south"},
    "estout, b se p": {"b/s/p"},
    "SPSS logistic": {"S.E.", "Step 1a"},
    "SPSS linear": {"Beta", "0.480", "0.650", "0.820"},
}
SIDE_BY_SIDE = (
    "stargazer, two models",
    "stargazer, the other model",
    "modelsummary, intervals",
    "esttab, two models, se",
)


def compared(folder, settings, printed):
    """Return the comparison of a printed table with the fit."""
    (folder / "june {1}.csv").write_text(printed)
    return ModelTable.read(folder / "june {1}.csv", **settings).on(PEOPLE).comparison


def test_there_are_thirty():
    assert len(TABLES) == 30


@pytest.mark.parametrize("name", TABLES)
def test_a_printed_table_is_matched_cell_by_cell(tmp_path, name):
    (settings, table), printed = TABLES[name]
    found = compared(tmp_path, settings, printed)
    cells = found.table.rows
    assert found.relabelled == ()
    assert len({each.row for each in found.matched}) >= len(table) - (name == "SAS odds ratios")
    left = {cells[i][j] for i, j in found.left}
    if name not in SIDE_BY_SIDE:
        assert left == LISTED.get(name, set())
        return
    # Of several models all numbers in the column of one are compared, and none in those of others.
    (own,) = {each.column for each in found.matched}
    labels = {cells[each.row][0] for each in found.matched}
    assert not [(i, j) for i, j in found.left if j == own and cells[i][0] in labels]
    assert {(i, j) for i, row in enumerate(cells[1:], 1) for j in (1, 2) if j != own and row[j]} - set(found.left) <= {
        (i, j) for i, row in enumerate(cells) for j in (1, 2) if row[0] in ("Observations", "Num.Obs.")
    }


def altered(name, how):
    """Return a table with a fault, and the cells that are not what they were."""
    settings, found = TABLES[name][0][0], COMPARED[name]
    rows = [list(row) for row in found.table.rows]
    kinds = ("coefficient", "exponentiated coefficient")
    cells = [(each.row, each.column) for each in found.matched if each.kind in kinds]
    column = cells[-1][1]
    places = [i for i, j in cells if j == column]
    (i, j) = places[-2:]
    if how == "labels":
        # All that is before the first number.
        at = min(column for _, column in cells)
        rows[i][:at], rows[j][:at] = rows[j][:at], rows[i][:at]
        return settings, rows, [(i, column), (j, column)]
    if how == "rows":
        rows[i][column], rows[j][column] = rows[j][column], rows[i][column]
        return settings, rows, [(i, column), (j, column)]
    wrong = [i] if how == "digit" else places
    for row in wrong:
        # The first number in the cell, as of another fit.
        rows[row][column] = re.sub(r"\d[\d.,]*", lambda found: bumped(found[0]), rows[row][column], count=1)
    return settings, rows, [(row, column) for row in wrong]


def bumped(digits):
    """Return a number with another digit in the last place but one."""
    places = [at for at, letter in enumerate(digits) if letter.isdigit()]
    at = places[-2] if len(places) > 1 else places[-1]
    return digits[:at] + str((int(digits[at]) + 3) % 10) + digits[at + 1 :]


COMPARED = {}


@pytest.fixture(scope="module", autouse=True)
def _compared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("printed")
    for name, ((settings, _), printed) in TABLES.items():
        COMPARED[name] = compared(folder, settings, printed)


@pytest.mark.parametrize("how", ["rows", "digit", "column", "labels"])
@pytest.mark.parametrize("name", TABLES)
def test_a_fault_is_found(tmp_path, name, how):
    settings, rows, wrong = altered(name, how)
    try:
        found = compared(tmp_path, settings, text(rows))
    except seepage.errors.InputError:
        return
    missed = set(wrong) - set(found.left)
    # A label that contains the other one is right for both, and the other is listed.
    assert not missed or (how == "labels" and len(missed) == 1 and TABLES[name][0] is SQUARE)
