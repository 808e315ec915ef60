"""The tables of the pages about the papers, written from the files of results.

`python -m experiments._table` writes them anew into docs/experiments.
"""

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
from experiments._statement import line

RESULTS = Path(__file__).parent.parent / "docs" / "experiments"


def statements(folder: Path) -> str:
    """Return all statements, paper by paper."""
    parts = []
    for paper in (_statements_h21, _statements_g22, _statements_plis, _statements_m21):
        parts += [
            f"## {paper.TITLE}",
            "",
            "| | statement | printed | ours | verdict | command |",
            "|---|---|---|---|---|---|",
        ]
        parts += [*(line(row, folder) for row in paper.ROWS), ""]
    return "\n".join(parts)


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
    "networks.md": {"guo table": _network_pages.private_sgd, "plis table": _network_pages.susceptible},
    "federated.md": {"m21 table": _network_pages.layers, "inversions": _network_pages.inversions},
}


def written(name: str, text: str, folder: Path = RESULTS) -> str:
    """Return a page with its tables as the results give them."""
    for mark, make in TABLES[name].items():
        start, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
        before, rest = text.split(start)
        text = f"{before}{start}\n{make(folder).strip()}\n{end}{rest.split(end)[1]}"
    return text


if __name__ == "__main__":
    for each in TABLES:
        (RESULTS / each).write_text(written(each, (RESULTS / each).read_text()))
