"""ACRO's risk appetite: the limits that a research environment sets, by the names that ACRO gives them."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from seepage._near import did_you_mean, several
from seepage.errors import InputError, MissingExtraError


@dataclass(frozen=True)
class RiskAppetite:
    """Limits for tables and regressions; what is None is not asked.

    Attributes
    ----------
    safe_threshold : float
        The fewest people in a cell.
    safe_nk_n, safe_nk_k : float
        The n largest values of a cell make up less than the share k of its sum.
    safe_pratio_p : float
        All but the two largest values of a cell make up at least the share p of the largest.
    safe_dof_threshold : float
        The fewest residual degrees of freedom.
    """

    safe_threshold: float | None = None
    safe_nk_n: float | None = None
    safe_nk_k: float | None = None
    safe_pratio_p: float | None = None
    safe_dof_threshold: float | None = None

    @classmethod
    def of(cls, given: "RiskAppetite | Mapping[str, Any] | str | os.PathLike[str]") -> "RiskAppetite":
        """Take ACRO's own settings: the `config` of a session, its `config.json`, or the YAML file it reads."""
        if isinstance(given, cls):
            return given
        found = given if isinstance(given, Mapping) else _read(Path(given))  # type: ignore[arg-type]
        known = [each.name for each in fields(cls)]
        for name in found:
            # Whatever else a session is told is none of our business; a limit that is misspelled is.
            if str(name).startswith("safe_") and name not in (*known, "safe_round_base"):
                raise InputError(
                    f"The risk appetite sets {name!r}, which is not answered here. {did_you_mean(str(name), known)}It "
                    f"may set: {several(known)}."
                )
        for name in known:
            value = found.get(name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or value < 0):
                raise InputError(f"{name} of the risk appetite is a number that is not negative, not {value!r}.")
        appetite = cls(**{name: found[name] for name in known if found.get(name) is not None})
        if appetite == cls():
            raise InputError(f"The risk appetite sets no limit. It may set: {several(known)}.")
        if (appetite.safe_nk_n is None) != (appetite.safe_nk_k is None):
            raise InputError("safe_nk_n and safe_nk_k of the risk appetite belong together: set both, or neither.")
        return appetite

    def limits(self) -> dict[str, float]:
        """Return what is set, by name."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in found.items() if value is not None}


def _read(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as reason:
        raise InputError(f"The risk appetite {str(path)!r} cannot be read: {reason.strerror}.") from None
    if path.suffix.lower() in (".yaml", ".yml"):
        found = _from_yaml(text, path)
    else:
        try:
            found = json.loads(text)
        except ValueError:
            raise InputError(
                f"The risk appetite {str(path)!r} is not JSON: name the config.json that ACRO writes, or its YAML file."
            ) from None
    if not isinstance(found, Mapping):
        raise InputError(f"The risk appetite {str(path)!r} holds no names with values.")
    return found


def _from_yaml(text: str, path: Path) -> Any:
    try:
        import yaml
    except ImportError:
        raise MissingExtraError(
            "Reading YAML needs PyYAML, which ACRO brings and which is not installed. Name the config.json that ACRO "
            "writes instead, or install it with: pip install pyyaml"
        ) from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise InputError(f"The risk appetite {str(path)!r} is not YAML.") from None
