"""What an experiment returns, and how it is kept."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib.figure import Figure

# Dots an inch; images have pixels of their own and need fewer.
_DOTS, _DOTS_OF_IMAGES = 150, 120


@dataclass(frozen=True)
class Result:
    """Figures by name, the numbers behind them, and a few lines to print."""

    figures: dict[str, Figure]
    numbers: dict[str, Any]
    lines: list[str] = field(default_factory=list)

    def save(self, name: str, folder: Path) -> list[Path]:
        """Write NAME.json and a PNG for each figure."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{name}.json"]
        paths[0].write_text(json.dumps(rounded(self.numbers), indent=1) + "\n")
        for part, figure in self.figures.items():
            paths.append(folder / (f"{name}_{part}.png" if part else f"{name}.png"))
            figure.savefig(paths[-1], dpi=_DOTS_OF_IMAGES if part == "images" else _DOTS, pil_kwargs={"optimize": True})
        return paths


def plain(value: Any) -> Any:
    """Return the same in dictionaries with text as keys, lists and numbers, which JSON knows."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def rounded(value: Any) -> Any:
    """Return the same as `plain` does, with numbers of six digits: more are noise in a diff.

    What is not a number is null: JSON has no word for it, and strict readers stop at one.
    """
    value = plain(value)
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
