"""Policies in TOML files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seepage._python import tomllib
from seepage._toml import from_toml
from seepage.cli.terminal import did_you_mean, listing
from seepage.errors import InputError

if TYPE_CHECKING:
    from seepage.meaning import Target
    from seepage.release import Decision, Policy

_TABLES = ("error_floor", "success_rate", "risk_appetite")
_NAMES = (*_TABLES, "eta", "quantile", "other_attributes", "decision")
EXAMPLE = """\
quantile = 1.0    # the share of people for whom each target must hold
# other_attributes = "public"  declares that what has no target below is public

[error_floor]     # no unbiased guess may be nearer, in the column's unit
age = { floor = 5, unit = "years", baseline = 13 }    # of a guess without the release, if a public figure is known

[success_rate]    # no attacker may tell two categories apart more often
diagnosis = 0.6

[decision]        # who decided, for the certificate; may be left out
policy = "Release of models"
version = "1.0"
approver = "Data access committee"
date = 2026-11-12
"""


@dataclass(frozen=True)
class PolicyFile:
    """A policy, and where it is written."""

    path: Path
    policy: "Policy"
    text: str
    decision: "Decision | None"
    """Who decided, if the file says so."""
    risk_appetite: "dict[str, Any] | None" = None
    """That of ACRO, for a folder of outputs."""

    @classmethod
    def read(cls, path: Path, *, outputs: bool = False) -> "PolicyFile":
        """Read a policy, refusing whatever it could not mean.

        Parameters
        ----------
        path : Path
        outputs : bool, default=False
            Whether it is for a folder of outputs, to which ACRO's risk appetite applies too.
        """
        from seepage.release import Decision, Policy

        try:
            text = path.read_text(encoding="utf-8")
            found = from_toml(text)
        except FileNotFoundError:
            raise InputError(f"There is no policy file {path}. A policy looks like this:\n\n{EXAMPLE}") from None
        except OSError as reason:
            raise InputError(f"The policy {path} cannot be read: {reason.strerror}.") from None
        except UnicodeDecodeError:
            raise InputError(f"The policy {path} is not saved as UTF-8. Save it as UTF-8 in your editor.") from None
        except tomllib.TOMLDecodeError as reason:
            raise InputError(
                f"The policy {path} is not TOML: {reason}. A policy looks like this:\n\n{EXAMPLE}"
            ) from None
        _check(path, found)
        stated = found.pop("decision", None)
        appetite = found.pop("risk_appetite", None)
        if appetite is not None and not outputs:
            raise InputError(f"The risk_appetite of {path} is about a folder of outputs: leave it out for a model.")
        try:
            decision = None if stated is None else Decision.of(stated)
            policy = Policy.of(found)
        except InputError as reason:
            raise InputError(f"The policy {path} cannot be used: {reason}") from None
        if policy.is_empty and appetite is None:
            raise InputError(f"The policy {path} sets no target. A policy looks like this:\n\n{EXAMPLE}")
        return cls(path, policy, text, decision, appetite)

    def line_of(self, target: "Target") -> int:
        """Return the line that sets a target, counted from 1; the first line if it stands in another notation."""
        wanted = ("", "eta") if target.attribute is None else (target.kind, target.attribute)
        table = ""
        for number, line in enumerate(self.text.splitlines(), 1):
            bare = line.strip()
            if bare.startswith("["):
                table = bare.partition("]")[0].strip("[ ")
                continue
            key = bare.partition("=")[0].strip().strip("\"'")
            if "=" in bare and (table, key) == wanted:
                return number
        return 1


def _check(path: Path, found: Mapping[str, object]) -> None:
    """Refuse names that no policy has, and floors and rates without a column."""
    for name, value in found.items():
        if name not in _NAMES:
            raise InputError(
                f"The policy {path} sets {name!r}, which no policy has. {did_you_mean(name, _NAMES)}A policy has "
                f"{listing(list(_NAMES))}."
            )
        if name in _TABLES and not isinstance(value, dict):
            raise InputError(
                f"{name} in the policy {path} needs a column for each number:\n\n[{name}]\nage = {value!r}"
            )
        if isinstance(value, dict) and value.get("other_attributes") == "public":
            raise InputError(
                f'other_attributes = "public" in the policy {path} belongs above [{name}]: it is about no column.'
            )
