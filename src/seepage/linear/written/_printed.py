"""Coefficients as programs print them to CSV: R's summary, broom's tidy, and Stata's esttab."""

import csv
import re
from pathlib import Path
from typing import NamedTuple

from seepage.errors import InputError, UnsupportedError

# What the columns of estimates and of names are called.
_ESTIMATES = ("estimate", "coef", "coefficient", "coef.", "b", "beta")
_NAMES = ("term", "name", "names", "parameter", "parm", "variable")
_ERRORS = ("std. error", "std.error", "std. err.", "std err", "se", "bse")
# What esttab writes below the coefficients.
_BELOW = ("n", "r2", "r2_a", "r2_p", "pseudo r2", "adj. r2", "r-squared", "adj. r-squared", "pseudo r-squared")
_CRITERIA = ("aic", "bic", "ll", "chi2", "f", "observations")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_MODEL = re.compile(r"\(\d+\)")


class PrintedModel(NamedTuple):
    """The cells of a CSV of coefficients, and those of them that are read."""

    rows: list[list[str]]
    coefficients: dict[str, float]
    read: set[tuple[int, int]]
    """Row and column of names and estimates, and of their heads."""
    errors: dict[tuple[int, int], tuple[str, str]]
    """The estimate and the standard error, where a cell has a number below a head of standard errors."""


def read_printed(path: Path, text: str) -> PrintedModel:
    """Return the coefficients of one model from a CSV, by name.

    Parameters
    ----------
    path : Path
        What the file is called.
    text : str
        What it holds.
    """
    rows = [[_cell(cell) for cell in row] for row in csv.reader(text.splitlines())]
    names, estimates, start = _columns(path, text, rows)
    found: dict[str, float] = {}
    heads = [cell.lower() for cell in rows[start - 1]]
    read = {(start - 1, estimates), *((start - 1, j) for j, head in enumerate(heads) if head in (*_NAMES, *_ERRORS))}
    errors: dict[tuple[int, int], tuple[str, str]] = {}
    for i, row in enumerate(rows[start:], start):
        if len(row) <= max(names, estimates) or not row[names] or row[names].lower() in (*_BELOW, *_CRITERIA):
            # Standard errors of esttab stand below, without a name; so do lines about the whole model.
            continue
        number = re.sub(r"\*+$", "", row[estimates]).strip()
        if number in ("NA", "NaN", "Inf", "-Inf"):
            raise InputError(
                f"{path}: the coefficient {row[names]!r} is {number}. R writes that for a column that is a combination "
                "of others: fit without that column."
            )
        if not number:
            continue
        if not _NUMBER.fullmatch(number):
            raise InputError(
                f"{path}: the coefficient {row[names]!r} is {row[estimates]!r}, which is no number. Decimals have a "
                "point and columns are separated by commas: write.csv, not write.csv2."
            )
        if row[names] in found:
            raise InputError(f"{path}: there are two coefficients {row[names]!r}.")
        found[row[names]] = float(number)
        read |= {(i, names), (i, estimates)}
        for j, (head, cell) in enumerate(zip(heads, row, strict=False)):
            if head in _ERRORS and _NUMBER.fullmatch(cell):
                errors[i, j] = number, cell
    if not found:
        raise _nothing(path, text)
    return PrintedModel(rows, found, read, errors)


def _cell(text: str) -> str:
    # esttab keeps spreadsheets from guessing: ="0.041***".
    return re.sub(r'^="?|"$', "", text.strip()).strip()


def _columns(path: Path, text: str, rows: list[list[str]]) -> tuple[int, int, int]:
    """Return where names and estimates stand, and in which row they begin."""
    for i, row in enumerate(rows):
        lower = [cell.lower() for cell in row]
        models = [j for j, cell in enumerate(row) if _MODEL.fullmatch(cell)]
        if len(models) > 1:
            raise UnsupportedError(
                f"{path} has {len(models)} models side by side. Write one file for each: what they tell together is "
                "measured by seepage.compose."
            )
        if models:
            return 0, models[0], i + 1
        here = [j for j, cell in enumerate(lower) if cell in _ESTIMATES]
        if here:
            named = [j for j, cell in enumerate(lower) if cell in _NAMES]
            return named[0] if named else 0, here[0], i + 1
    raise _nothing(path, text)


def _nothing(path: Path, text: str) -> InputError:
    if ";" in text.partition("\n")[0]:
        return InputError(
            f"{path} has its columns separated by semicolons. Write it with commas and decimal points: write.csv, not "
            "write.csv2."
        )
    return InputError(
        f"{path} has no table of coefficients: a column of names, and one called Estimate, coef or (1). R writes one "
        'with write.csv(coef(summary(fit)), "model.csv"), and Stata with esttab using model.csv.'
    )
