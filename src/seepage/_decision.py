"""Approval of a publication: person, rule and time."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import date as calendar_date

from seepage.errors import InputError

_LONGEST = 2000


@dataclass(frozen=True)
class Decision:
    """Approval of a publication.

    Nothing here is computed: it is what the people who decide say, as it stands in certificates and reports.

    Parameters
    ----------
    policy : str
        The name of the rule that was applied.
    version : str
        Its version.
    approver : str
        Who approved the release.
    date : date or str
        When, as YEAR-MONTH-DAY.
    note : str, optional
        Whatever else should be on record.

    Examples
    --------
    >>> import seepage
    >>> decision = seepage.release.Decision(
    ...     policy="Release of models", version="3.1", approver="Data access committee", date="2026-11-12"
    ... )
    >>> decision.sentence()
    'Approved by Data access committee on 2026-11-12, under Release of models, version 3.1.'
    """

    policy: str
    version: str
    approver: str
    date: str
    note: str = ""

    def __post_init__(self) -> None:
        # A table of TOML has dates of its own.
        if isinstance(self.date, calendar_date):
            object.__setattr__(self, "date", f"{self.date:%Y-%m-%d}")
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if not isinstance(value, str) or len(value) > _LONGEST:
                raise InputError(f"{name} of a decision is text of at most {_LONGEST:,} letters, not {value!r:.60}.")
            if not value.strip() and name != "note":
                raise InputError(f"A decision needs its {name}: who approved the release, when, and by which rule.")
        try:
            written = calendar_date.fromisoformat(self.date).isoformat()
        except ValueError:
            written = ""
        if written != self.date:
            raise InputError(f"The date of a decision is written as YEAR-MONTH-DAY, not {self.date!r:.40}.")

    @classmethod
    def of(cls, given: "Decision | Mapping[str, object]") -> "Decision":
        """Accept the arguments of a decision wherever one is expected."""
        if isinstance(given, cls):
            return given
        try:
            return cls(**given)  # type: ignore[arg-type]
        except TypeError:
            raise InputError(f"A decision has policy, version, approver, date and note, not {given!r:.200}.") from None

    def entries(self) -> dict[str, str]:
        """Return its entries by name."""
        return asdict(self)

    def sentence(self) -> str:
        """Return the decision in words."""
        return f"Approved by {self.approver} on {self.date}, under {self.policy}, version {self.version}."

    def whole(self) -> str:
        """Return the decision in words, with what else should be on record."""
        return f"{self.sentence()} {self.note}".strip()
