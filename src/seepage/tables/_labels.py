"""Words of tables: columns, levels, statistics and totals in heads and labels."""

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from seepage._tables import Column, Table, missing_in

QUANTILES = ("median", "q1", "q3", "min", "max")
# Fewer people than these have a rare level, which no label explains.
_RARE = 10
_MOST_LEVELS = 40
_TOKEN = re.compile(r"[<>]=?|%|\d+(?:\.\d+)?|[^\W\d_]+")
_STATISTICS = {
    "count": "n|no|num|number|count|counts|freq|frequency|size|obs|observations|nobs|participants|patients|people|"
    "persons|individuals|subjects|cases",
    "mean": "mean|means|average|avg|m",
    "sd": "sd|std|stddev|std dev|s d|standard deviation|std deviation|deviation",
    "se": "se|sem|std err|std error|standard error|standard error of the mean",
    "sum": "sum|sums",
    "share": "share|shares|proportion|prop|fraction|rate|prevalence",
    "percent": "%|percent|percentage|pct|per cent|perc|col %|row %",
    "median": "median|p50|50%|50 th percentile|med",
    "q1 q3": "iqr|q1 q3|q 1 q 3|interquartile range|quartiles|25% 75%",
    "q1": "q1|q 1|p25|p 25|25%|lower quartile|first quartile|25 th percentile",
    "q3": "q3|q 3|p75|p 75|75%|upper quartile|third quartile|75 th percentile",
    "min": "min|minimum|smallest|lowest",
    "max": "max|maximum|largest|highest",
    "min max": "range|min max",
    "lower upper": "ci|95% ci|95% confidence interval|confidence interval|conf int|95 ci",
    "lower": "lower|lcl|lower 95%|2.5%|ci lower|lower ci",
    "upper": "upper|ucl|upper 95%|97.5%|ci upper|upper ci",
    "missing": "missing|missings|na|nan|nmiss|unknown",
}
_TOTALS = "all|total|totals|overall|everybody|everyone|any|both|combined|pooled|margin|margins|whole sample|entire"
_WORDS = (
    "of|by|in|the|a|an|and|or|for|per|with|vs|to|from|variable|variables|characteristic|characteristics|statistic|"
    "statistics|value|values|level|levels|category|categories|group|groups|grouped|table|summary|results|year|years|yr|"
    "yrs|month|months|week|weeks|day|days|mmhg|mm|hg|kg|m2|cm|g|l|dl|mg|mmol|mol|ml|units|unit|euro|eur|usd|gbp|dollars|"
    "pounds|unnamed|index|row|rows|column|name|label|labels|note|notes|data|rounded|counts are|sample|study|"
    "distribution|descriptive|stratified|baseline|are|is|shown|presented|as|not|suppressed|fewer than|less than"
)


class LabelTerm(NamedTuple):
    """A word of a label and what it names."""

    kind: Literal["column", "level", "statistic", "total", "word"]
    name: str = ""
    value: Hashable = None


class Label(NamedTuple):
    """A label as it was read."""

    alternatives: tuple[tuple[LabelTerm, ...], ...]
    unknown: tuple[str, ...]
    """Tokens that nothing explains."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Sequences of tokens and the terms that they may be."""

    entries: Mapping[tuple[str, ...], tuple[LabelTerm, ...]]

    @classmethod
    def of(cls, table: Table, names: Sequence[str]) -> "Vocabulary":
        """Take the words of tables, the columns of the people, and the levels of some columns."""
        entries: dict[tuple[str, ...], dict[LabelTerm, None]] = {}

        def add(text: str, *terms: LabelTerm) -> None:
            if tokens := _tokens(text):
                entries.setdefault(tokens, {}).update(dict.fromkeys(terms))

        for name in table.names:
            add(name, LabelTerm("column", name))
        for name in names:
            for value, texts in _levels(table.column(name)):
                for text in texts:
                    add(text, LabelTerm("level", name, value))
        for statistics, written in _STATISTICS.items():
            for text in written.split("|"):
                add(text, *(LabelTerm("statistic", each) for each in [statistics]))
        for text in _TOTALS.split("|"):
            add(text, LabelTerm("total"))
        for text in _WORDS.split("|"):
            add(text, LabelTerm("word"))
        return cls({tokens: tuple(terms) for tokens, terms in entries.items()})

    def read(self, text: str, column: str | None = None) -> Label:
        """Read a label; below the head of a column its levels come first."""
        tokens, longest = _tokens(text), max(map(len, self.entries))
        alternatives: list[tuple[LabelTerm, ...]] = [()]
        unknown, at = [], 0
        while at < len(tokens):
            size = next((k for k in range(longest, 0, -1) if tokens[at : at + k] in self.entries), 0)
            if not size:
                unknown.append(tokens[at])
                at += 1
                continue
            terms = self.entries[tokens[at : at + size]]
            terms = tuple(each for each in terms if each.kind == "level" and each.name == column) or terms
            alternatives = [(*rest, each) for rest in alternatives for each in terms][:16]
            at += size
        return Label(tuple(alternatives), tuple(unknown))

    def explains(self, text: str) -> bool:
        """Return whether every word of a text is known."""
        return not self.read(text).unknown


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(
        f"{float(token):.15g}" if token[0].isdigit() and len(token) < 16 else token
        for token in _TOKEN.findall(text.lower())
    )


def _levels(column: Column) -> Iterator[tuple[Hashable, tuple[str, ...]]]:
    """Yield the values of a category that ten people or more have, with their texts."""
    known = column[~missing_in(column)]
    values, counts = np.unique(known.astype(str) if known.dtype == object else known, return_counts=True)
    if len(values) > _MOST_LEVELS and known.dtype.kind in "iuf":
        return
    is_binary = known.dtype.kind == "b" or {*values.tolist()} <= {0, 1, "0", "1"}
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        if count >= _RARE:
            yes = str(value).lower() in ("1", "1.0", "true")
            yield value, (str(value), *((("yes",) if yes else ("no",)) if is_binary else ()))
