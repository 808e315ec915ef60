"""The tables of the pages about the papers, written from the files of results.

`python -m experiments._table` writes them anew into docs/experiments; `python -m experiments all` does so where it puts
its results.
"""

import json
from collections.abc import Callable
from pathlib import Path

from experiments import (
    _linear_page,
    _network_pages,
    _statements_g22,
    _statements_h21,
    _statements_m21,
    _statements_plis,
)
from experiments._criterion import Numbers

RESULTS = Path(__file__).parent.parent / "docs" / "experiments"


PAPERS = {"H21": _statements_h21, "G22": _statements_g22, "PLIS": _statements_plis, "M21": _statements_m21}


def statements(folder: Path) -> str:
    """Return all statements, paper by paper."""
    parts = []
    for paper in PAPERS.values():
        parts += [
            f"## {paper.TITLE}",
            "",
            "| | statement | printed | ours | counts as confirmed | verdict | command |",
            "|---|---|---|---|---|---|---|",
        ]
        parts += [*(row.line(folder) for row in paper.ROWS), ""]
    return "\n".join(parts)


def verdicts(folder: Path) -> dict[str, list[Numbers]]:
    """Return all verdicts as data, paper by paper."""
    return {name: [row.record(folder) for row in paper.ROWS] for name, paper in PAPERS.items()}


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "papers.md": {"what was found": statements},
    "linear.md": {
        "h21 table": _linear_page.table_1,
        "classes": _linear_page.by_class,
        "shared": _linear_page.shared,
        "other scores": _linear_page.other_scores,
        "two attacks": _linear_page.two_attacks,
        "equalized": _linear_page.equalized,
        "floors of images": _linear_page.floors_of_images,
        "reconstructed": _linear_page.reconstructed,
    },
    "networks.md": {
        "guo table": _network_pages.private_sgd,
        "guo color table": _network_pages.private_sgd_in_color,
        "plis table": _network_pages.susceptible,
    },
    "federated.md": {"m21 table": _network_pages.layers, "inversions": _network_pages.inversions},
}


def written(name: str, text: str, folder: Path = RESULTS) -> str:
    """Return a page with its tables as the results give them."""
    for mark, make in TABLES[name].items():
        start, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
        before, rest = text.split(start)
        text = f"{before}{start}\n{make(folder).strip()}\n{end}{rest.split(end)[1]}"
    return text


def write(folder: Path) -> None:
    """Write the verdicts as data, and the tables into those pages that are there; without them, the first one alone."""
    (folder / "verdicts.json").write_text(json.dumps(verdicts(folder), indent=1, ensure_ascii=False) + "\n")
    if not (folder / "papers.md").exists():
        # With the marks between which the next run writes anew.
        marks = "<!-- what was found -->\n<!-- end of what was found -->"
        (folder / "papers.md").write_text(f"# What the papers say and what we found\n\n{marks}\n")
    for each in TABLES:
        if (folder / each).exists():
            (folder / each).write_text(written(each, (folder / each).read_text(), folder))


if __name__ == "__main__":
    write(RESULTS)
