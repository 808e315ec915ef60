"""Requests as researchers file them, honest ones and tricks: functions that write a folder about some people."""

import re

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from requests_made import said
from statsmodels.genmod.families import links

RNG = np.random.default_rng(0)
COUNT = 1200


def _people():
    people = pd.DataFrame({"id": [f"p{i:04}" for i in range(COUNT)], "age": RNG.integers(18, 90, COUNT)})
    people["sex"] = RNG.choice(["F", "M"], COUNT)
    people["ward"] = RNG.choice(["east", "north", "south", "west"], COUNT, p=[0.4, 0.3, 0.2, 0.1])
    people["bmi"] = np.round(RNG.normal(26, 4, COUNT), 1)
    people["sbp"] = np.round(90 + 0.5 * people["age"] + 0.8 * people["bmi"] + RNG.normal(0, 12, COUNT))
    people["income"] = np.round(np.exp(RNG.normal(10, 0.5, COUNT)))
    people["ill"] = (RNG.random(COUNT) < 1 / (1 + np.exp(4 - 0.04 * people["age"]))).astype(int)
    people["smoker"] = RNG.random(COUNT) < 0.3
    people["parity"] = np.where(np.arange(COUNT) % 3 == 0, 2, 1)
    people["weeks"] = np.round(RNG.exponential(40, COUNT) + 1 + RNG.random(COUNT), 3)
    people["died"] = (RNG.random(COUNT) < 0.5).astype(int)
    people["visits"] = RNG.poisson(np.exp(0.5 + 0.01 * people["age"]))
    people["chol"] = np.round(RNG.normal(5, 1, COUNT), 1)
    people.loc[people.index % 7 == 0, "chol"] = np.nan
    people["region"] = RNG.choice(["Süd", "Nord"], COUNT)
    return people


PEOPLE = _people()
BY_WARD, BY_SEX = PEOPLE.groupby("ward"), PEOPLE.groupby("sex")


def _means(folder, made, *, index=True, name="t.csv", **says):
    made.to_csv(folder / name, index=index)
    said(folder / name, **says)


def _cells(rows, cell):
    """Return a table of texts: variables in rows, sexes in columns, and everybody."""
    groups = {"F": PEOPLE[PEOPLE["sex"] == "F"], "M": PEOPLE[PEOPLE["sex"] == "M"], "Overall": PEOPLE}
    return pd.DataFrame({head: [cell(some, row) for row in rows] for head, some in groups.items()}, index=rows)


def _mean_sd(some, name):
    return f"{some[name].mean():.1f} ({some[name].std():.1f})"


def _long(folder):
    _means(folder, BY_SEX["sbp"].agg(["count", "mean"]).round(1), of=["sbp"], by=["sex"])


def _counts(folder):
    _means(folder, PEOPLE.groupby(["ward", "sex"]).size().rename("count"), by=["ward", "sex"])


def _coded(folder):
    _means(folder, BY_WARD["parity"].agg(["count", "mean"]).round(2), of=["parity"], by=["ward"])


def _trailing_zeros(folder):
    _means(folder, BY_WARD["sbp"].agg(["count", "mean"]).round(0), of=["sbp"], by=["ward"])


def _percent(folder):
    made = BY_WARD["ill"].agg(["count", "mean"])
    _means(folder, made.assign(mean=(100 * made["mean"]).round(1)), of=["ill"], by=["ward"])


def _percent_signs(folder):
    share = BY_WARD["ill"].mean().map("{:.1%}".format).rename("share")
    _means(folder, share, of=["ill"], by=["ward"])


def _rounded_to_five(folder):
    five = (PEOPLE.groupby(["ward", "sex"]).size() / 5).round().astype(int).mul(5).rename("count")
    _means(folder, five, by=["ward", "sex"])


def _suppressed(folder):
    made = PEOPLE.groupby(["ward", "sex"]).size().unstack().astype(object)
    made.loc["west", "F"] = made.loc["west", "M"] = "*"
    _means(folder, made, by=["ward", "sex"])


def _missing(folder):
    _means(folder, BY_WARD[["chol", "sbp"]].agg(["count", "mean"]).round(1), of=["chol", "sbp"], by=["ward"])


def _wide(folder):
    made = PEOPLE.pivot_table(index="ward", columns="sex", values="sbp").round(1)
    _means(folder, made, of=["sbp"], by=["ward", "sex"])


def _total(folder):
    (folder / "t.csv").write_text(f"count\n{COUNT}\n")
    said(folder / "t.csv", by=[])


def _crosstab(folder):
    made = pd.crosstab(PEOPLE["ward"], PEOPLE["sex"], margins=True, margins_name="Total")
    _means(folder, made, by=["ward", "sex"])


def _row_percentages(folder):
    made = (100 * pd.crosstab(PEOPLE["ward"], PEOPLE["sex"], normalize="index")).round(1)
    _means(folder, made, by=["ward", "sex"])


def _table_one(folder):
    """Table 1 with numbers and categories by sex, and missing values."""
    lines = ["Characteristic," + ",".join(f"{x} (n={n})" for x, n in [*BY_SEX.size().items(), ("Overall", COUNT)])]
    groups = [PEOPLE[PEOPLE["sex"] == "F"], PEOPLE[PEOPLE["sex"] == "M"], PEOPLE]
    for name in ("age", "bmi", "chol"):
        lines.append(f'"{name}, mean (SD)",' + ",".join(_mean_sd(some, name) for some in groups))
    for name in ("ill", "smoker"):
        texts = (f"{some[name].sum():.0f} ({100 * some[name].mean():.1f}%)" for some in groups)
        lines.append(f'"{name}, n (%)",' + ",".join(texts))
    lines.append('"ward, n (%)",,,')
    for ward in ("east", "north", "south", "west"):
        texts = (f"{(some['ward'] == ward).sum()} ({100 * (some['ward'] == ward).mean():.1f})" for some in groups)
        lines.append(f"  {ward}," + ",".join(texts))
    lines.append("chol missing," + ",".join(str(some["chol"].isna().sum()) for some in groups))
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    said(folder / "t.csv", of=["age", "bmi", "chol", "ill", "smoker", "ward"], by=["sex"])


def _mean_and_sd(folder):
    _means(folder, _cells(["age", "bmi", "sbp"], _mean_sd), of=["age", "bmi", "sbp"], by=["sex"])


def _semicolons(folder):
    made = BY_WARD["bmi"].agg(["count", "mean", "std"]).round(2)
    made.to_csv(folder / "t.csv", sep=";", decimal=",")
    said(folder / "t.csv", of=["bmi"], by=["ward"])


def _thousands(folder):
    made = BY_SEX["income"].agg(["count", "mean"]).round(0).map("{:,.0f}".format)
    _means(folder, made, of=["income"], by=["sex"])


def _latin(folder):
    made = PEOPLE.groupby("region")["sbp"].mean().round(1).reset_index()
    (folder / "t.csv").write_bytes(made.to_csv(index=False).encode("latin-1"))
    said(folder / "t.csv", of=["sbp"], by=["region"])


def _marked(folder):
    (folder / "t.csv").write_text(BY_SEX["age"].mean().round(1).to_csv(), encoding="utf-8-sig")
    said(folder / "t.csv", of=["age"], by=["sex"])


def _tabs(folder):
    BY_SEX[["age", "bmi"]].mean().round(1).to_csv(folder / "t.csv", sep="\t")
    said(folder / "t.csv", of=["age", "bmi"], by=["sex"])


def _excel(folder):
    BY_WARD["sbp"].agg(["count", "mean", "std"]).round(1).to_excel(folder / "t.xlsx")
    said(folder / "t.xlsx", of=["sbp"], by=["ward"])


def _page(folder):
    _cells(["age", "bmi"], _mean_sd).to_html(folder / "t.html")
    said(folder / "t.html", of=["age", "bmi"], by=["sex"])


def _latex(folder):
    rows = "\n".join(f"{name} & {row['count']:.0f} & {row['mean']:.1f} \\\\" for name, row in _agg().iterrows())
    text = (
        "\\begin{tabular}{lrr}\n\\toprule\nward & n & mean \\\\\n\\midrule\n"
        + rows
        + "\n\\bottomrule\n\\end{tabular}\n"
    )
    (folder / "t.tex").write_text(text)
    said(folder / "t.tex", of=["sbp"], by=["ward"])


def _agg():
    return BY_WARD["sbp"].agg(["count", "mean"])


def _filtered(folder):
    made = PEOPLE[PEOPLE["age"] >= 65].groupby("sex")["ill"].agg(["count", "mean"]).round(3)
    _means(folder, made, of=["ill"], by=["sex"], where="age >= 65")


def _medians(folder):
    def cell(some, name):
        low, half, high = some[name].quantile([0.25, 0.5, 0.75])
        return f"{half:.0f} [{low:.0f}, {high:.0f}]"

    _means(folder, _cells(["income"], cell).rename(index={"income": "income, median [IQR]"}), of=["income"], by=["sex"])


TABLES = {
    "long": _long, "counts": _counts, "coded": _coded, "trailing zeros": _trailing_zeros, "percent": _percent,
    "percent signs": _percent_signs, "rounded to five": _rounded_to_five, "suppressed": _suppressed,
    "missing": _missing, "wide": _wide, "total": _total, "crosstab": _crosstab, "row percentages": _row_percentages,
    "table one": _table_one, "mean and sd": _mean_and_sd, "semicolons": _semicolons, "thousands": _thousands,
    "latin": _latin, "marked": _marked, "tabs": _tabs, "excel": _excel, "page": _page, "latex": _latex,
    "filtered": _filtered, "medians": _medians,
}  # fmt: skip


def _named(fit):
    """Return the names of coefficients as R prints them."""
    return [
        re.sub(r"C\((\w+)\)\[T\.([^\]]*)\]|(\w+)\[T\.([^\]]*)\]", r"\1\3\2\4", name).replace("Intercept", "(Intercept)")
        for name in fit.params.index
    ]


def _r(fit, digits=4):
    columns = {"Estimate": fit.params, "Std. Error": fit.bse, "t value": fit.tvalues, "Pr(>|t|)": fit.pvalues}
    made = pd.DataFrame({head: column.to_numpy().round(digits) for head, column in columns.items()}, index=_named(fit))
    return made.rename_axis("")


def _regression(formula, family="gaussian", show=_r, people=PEOPLE, fit=None, **says):
    def write(folder):
        made = fit(formula, people) if fit else smf.ols(formula, people).fit()
        show(made).to_csv(folder / "m.csv")
        said(folder / "m.csv", formula=re.sub(r"C\((\w+)\)", r"\1", formula), family=family, **says)

    return write


def _glm(family):
    return lambda formula, people: smf.glm(formula, people, family=family).fit(tol=1e-12, maxiter=100)


def _logit(formula, people):
    return smf.logit(formula, people).fit(disp=False, tol=1e-12)


def _coefficients(fit):
    return pd.DataFrame({"Estimate": fit.params.to_numpy().round(3)}, index=_named(fit))


def _ratios(head):
    def show(fit):
        ends = np.exp(fit.conf_int())
        columns = {head: np.exp(fit.params), "2.5 %": ends[0], "97.5 %": ends[1]}
        return pd.DataFrame({name: column.to_numpy().round(3) for name, column in columns.items()}, index=_named(fit))

    return show


def _ratio_texts(fit):
    ends = np.exp(fit.conf_int())
    texts = [
        f"{np.exp(b):.2f} ({low:.2f}-{high:.2f})" for b, low, high in zip(fit.params, ends[0], ends[1], strict=True)
    ]
    return pd.DataFrame({"OR (95% CI)": texts}, index=_named(fit))


def _stars(fit):
    texts = [f"{b:.3f}{'***' if p < 0.001 else ''}" for b, p in zip(fit.params, fit.pvalues, strict=True)]
    errors = [f"({error:.3f})" for error in fit.bse]
    rows = [
        row
        for both in zip(zip(_named(fit), texts, strict=True), errors, strict=True)
        for row in (both[0], ("", both[1]))
    ]
    return pd.DataFrame([text for _, text in rows], index=[name for name, _ in rows], columns=["Estimate"])


def _tidy(fit):
    made = _r(fit).set_axis(["estimate", "std.error", "statistic", "p.value"], axis=1).rename_axis("term")
    ends = fit.conf_int().round(4).to_numpy()
    return made.assign(**{"conf.low": ends[:, 0], "conf.high": ends[:, 1]})


def _cox(folder):
    fit = sm.PHReg(PEOPLE["weeks"], PEOPLE[["age"]], status=PEOPLE["died"], ties="efron").fit()
    (folder / "m.csv").write_text(f'"","coef"\n"age",{fit.params[0]:.4f}\n')
    said(folder / "m.csv", family="cox", formula="Surv(weeks, died) ~ age")


def _with_count(fit):
    made = _r(fit).astype(str)
    made.loc["N"] = [str(int(fit.nobs)), "", "", ""]
    return made


def _logarithm(_, people):
    fit = smf.ols("sbp ~ age + np.log(income)", people).fit()
    fit.params = fit.params.rename({"np.log(income)": "log(income)"})
    return fit


HETEROSKEDASTIC = {"fit": lambda formula, people: smf.ols(formula, people).fit(cov_type="HC3")}
REGRESSIONS = {
    "ols": _regression("sbp ~ age + bmi"),
    "ols with a category": _regression("sbp ~ C(sex) + age + bmi"),
    "ols of four wards": _regression("sbp ~ age + C(ward)"),
    "ols with a product": _regression("sbp ~ age * bmi"),
    "ols of a logarithm": _regression("sbp ~ age + log(income)", fit=_logarithm),
    "ols of the old": _regression("sbp ~ age + bmi", people=PEOPLE[PEOPLE["age"] >= 50], where="age >= 50"),
    "ols with missing values": _regression("sbp ~ age + chol"),
    "ols with stars": _regression("sbp ~ age + bmi", show=_stars),
    "ols of broom": _regression("sbp ~ age + bmi", show=_tidy),
    "ols with a count": _regression("sbp ~ age + bmi", show=_with_count),
    "coefficients alone": _regression("sbp ~ age + bmi + C(sex)", show=_coefficients),
    "robust errors": _regression("sbp ~ age + bmi", **HETEROSKEDASTIC),
    "logit": _regression("ill ~ age + bmi", "binomial", fit=_logit),
    "odds ratios": _regression("ill ~ age + C(sex)", "binomial", show=_ratios("OR"), fit=_logit),
    "odds ratios as texts": _regression("ill ~ age + bmi", "binomial", show=_ratio_texts, fit=_logit),
    "probit": _regression(
        "ill ~ age + bmi", "binomial", fit=_glm(sm.families.Binomial(links.Probit())), link="probit", show=_coefficients
    ),
    "poisson": _regression("visits ~ age + C(sex)", "poisson", fit=_glm(sm.families.Poisson())),
    "rate ratios": _regression("visits ~ age", "poisson", show=_ratios("IRR"), fit=_glm(sm.families.Poisson())),
    "gamma": _regression(
        "income ~ age", "gamma", link="log", show=_coefficients, fit=_glm(sm.families.Gamma(links.Log()))
    ),
    "cox": _cox,
    "of women": _regression("ill ~ age", "binomial", fit=_logit, people=PEOPLE[PEOPLE["sex"] == "F"], where="sex == F"),
    "of three digits": _regression("income ~ age + bmi", show=lambda fit: _r(fit, 1)),
}


def _beside(values, head="note"):
    def write(folder):
        made = BY_SEX["sbp"].agg(["count", "mean"]).round(1).assign(**{head: values})
        _means(folder, made, of=["sbp"], by=["sex"])

    return write


def _in_regression(change):
    def write(folder):
        fit = smf.ols("sbp ~ age + bmi", PEOPLE).fit()
        change(_r(fit)).to_csv(folder / "m.csv")
        said(folder / "m.csv", formula="sbp ~ age + bmi", family="gaussian")

    return write


def _one_person(statistic):
    def write(folder):
        (folder / "t.csv").write_text(f"{statistic} of income\n{PEOPLE['income'][7]}\n")
        said(folder / "t.csv", of=["income"], where="id == p0007")

    return write


def _another(path):
    def write(folder):
        _long(folder)
        (folder / path).parent.mkdir(exist_ok=True)
        PEOPLE.to_csv(folder / path)

    return write


def _uniform(says, make):
    """Count people of whom a filter leaves one value."""

    def write(folder):
        people = PEOPLE.assign(ill=np.where(PEOPLE["ward"] == "west", 1, PEOPLE["ill"]))
        make(people[people["ward"] == "west"]).to_csv(folder / "t.csv")
        said(folder / "t.csv", where="ward == west", **says)
        return people

    return write


def _pair(write, where):
    """File an output of all people beside one of all but a few."""

    def both(folder):
        write(folder / "all.csv", PEOPLE, {})
        write(folder / "fewer.csv", PEOPLE.query(where), {"where": where.replace("'", "")})

    return both


def _mean_of(path, people, says):
    people.groupby("sex")["sbp"].mean().round(3).to_csv(path)
    said(path, of=["sbp"], by=["sex"], **says)


def _fit_of(path, people, says):
    _r(smf.ols("sbp ~ age", people).fit(), 5).to_csv(path)
    said(path, formula="sbp ~ age", family="gaussian", **says)


def _parts(folder):
    for ward in ("east", "north", "south"):
        _mean_of(folder / f"{ward}.csv", PEOPLE[PEOPLE["ward"] == ward], {"where": f"ward == {ward}"})
    _mean_of(folder / "all.csv", PEOPLE.query("id != 'p0007'"), {"where": "id != p0007"})
    _mean_of(folder / "west.csv", PEOPLE[PEOPLE["ward"] == "west"], {"where": "ward == west"})


def _commented(text):
    def write(folder):
        _long(folder)
        with (folder / "t.toml").open("a") as file:
            file.write(f"# {text}\n")

    return write


def _hidden_sheet(folder):
    with pd.ExcelWriter(folder / "t.xlsx") as book:
        BY_SEX["sbp"].agg(["count", "mean"]).round(1).to_excel(book)
        PEOPLE[["id", "income"]].head(40).to_excel(book, sheet_name="notes")
        book.book["notes"].sheet_state = "hidden"
    said(folder / "t.xlsx", of=["sbp"], by=["sex"])


def _html_comment(folder):
    made = BY_SEX["sbp"].agg(["count", "mean"]).round(1).to_html()
    (folder / "t.html").write_text(made + f"<!-- {PEOPLE['income'][3]:.0f} {PEOPLE['income'][4]:.0f} -->")
    said(folder / "t.html", of=["sbp"], by=["sex"])


def _swapped(folder):
    made = BY_SEX["sbp"].agg(["count", "mean"]).round(1)
    _means(folder, made.iloc[::-1].set_axis(made.index), of=["sbp"], by=["sex"])


def _other_outcome(folder):
    _means(folder, BY_SEX["income"].mean().rename("sbp").round(1), of=["sbp"], by=["sex"])


INCOMES = PEOPLE["income"].to_numpy()


def _with_note(made):
    note = pd.DataFrame({"Estimate": [f"Jane Doe earns {INCOMES[5]:.0f}"]}, index=[""])
    return pd.concat([made, note])


def _sizes(people):
    return people.groupby(["sex", "ill"]).size().rename("count")


def _shares(people):
    return people.groupby("sex")["ill"].agg(["count", "mean"])


def _digits_of_a_level(folder):
    made = PEOPLE.groupby("parity").size().rename("count").rename(index={1: "1.0000000000017"})
    _means(folder, made, by=["parity"])


HOLDS_VALUES = {
    "standard errors": _in_regression(lambda made: made.assign(**{"Std. Error": INCOMES[:3]})),
    "column of coefficients": _in_regression(lambda made: made.assign(note=INCOMES[:3])),
    "text below": _in_regression(_with_note),
    "richest": _beside(BY_SEX["income"].max(), "richest"),
    "median": _beside(BY_SEX["income"].median(), "median of income"),
    "further numbers": _beside(INCOMES[:2]),
    "mean of one": _one_person("mean"),
    "sum of one": _one_person("sum"),
    "median of one": _one_person("median"),
    "subfolder": _another("more/rows.csv"),
    "dot file": _another(".rows.csv"),
    "counts of one level": _uniform({"by": ["sex", "ill"]}, _sizes),
    "share of one level": _uniform({"of": ["ill"], "by": ["sex"]}, _shares),
    "means less one": _pair(_mean_of, "id != 'p0007'"),
    "regressions less one": _pair(_fit_of, "id != 'p0007'"),
    "whole less its parts": _parts,
    "comment": _commented(f"Jane Doe earns {INCOMES[9]:.0f}"),
    "hidden sheet": _hidden_sheet,
    "comment of a page": _html_comment,
}
OTHERS = {
    "swapped rows": _swapped,
    "another outcome": _other_outcome,
    "wrong digit": _in_regression(lambda made: made.assign(Estimate=made["Estimate"] + [0, 0.002, 0])),
    "name in a head": _beside([1, 2], "Jane Doe"),
    "level with digits": _digits_of_a_level,
}
