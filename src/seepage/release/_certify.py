"""Comparison of a file with its certificate, and of a certificate with the ledger that paid for it."""

import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from seepage.errors import InputError
from seepage.ledger import Ledger
from seepage.release._certificate import Certificate
from seepage.release._seal import hash_of_file


class LedgerState(Enum):
    """The state of a certificate in a ledger."""

    PAID = "paid"
    UNNAMED = "unnamed"
    ROLLED_BACK = "rolled back"
    OTHER_RELEASE = "other release"


_LEDGER_WORDS = {
    LedgerState.PAID: "It has paid for this release, with the entry that the certificate names.",
    LedgerState.UNNAMED: "The certificate names no entry of a ledger: nobody has paid for the release.",
    LedgerState.ROLLED_BACK: "It does not hold the entry that the certificate names: an older copy was put back, or it "
    "is another ledger.",
    LedgerState.OTHER_RELEASE: "It knows another certificate for the entry that this one names: it has paid once, and "
    "two have left.",
}


@dataclass(frozen=True)
class Certification:
    """The comparison of a file with a certificate.

    Attributes
    ----------
    certificate : Certificate
        As it was read.
    is_file : bool
        Whether the file is the certified one, byte for byte.
    is_as_written : bool
        Whether the text of the certificate is exactly as seepage writes it: a space more is an edit.
    has_windows_lines : bool
        Whether the text differs in the ends of its lines alone.
    ledger : LedgerState or None
        The state in the ledger that was given; None if none was.
    """

    certificate: Certificate
    is_file: bool
    is_as_written: bool
    has_windows_lines: bool
    ledger: LedgerState | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against file or certificate."""
        return self.is_file and self.is_as_written and self.ledger in (None, LedgerState.PAID)

    def about_file(self) -> str:
        """Return the state of the file, in words."""
        return f"This is {'' if self.is_file else 'not '}the certified file{', byte for byte' if self.is_file else ''}."

    def about_ledger(self) -> str | None:
        """Return the state in the ledger, in words; None if none was given."""
        return None if self.ledger is None else _LEDGER_WORDS[self.ledger]

    def about_certificate(self) -> str:
        """Return the state of the certificate, in words."""
        if self.has_windows_lines:
            return "Its lines end as on Windows (git's autocrlf does that): end them by line feeds, and compare again."
        if not self.is_as_written:
            return "It was edited: its text is not as seepage writes it."
        return "Its text is as seepage writes it. Who wrote it, only a signature shows: ssh-keygen -Y verify."

    def __repr__(self) -> str:
        words = [self.about_file(), self.about_certificate(), self.about_ledger()]
        return f"Certification(holds={self.holds}: {' '.join(filter(None, words))})"


def certify(
    file: str | os.PathLike[str],
    certificate: str | os.PathLike[str],
    *,
    ledger: Ledger | None = None,
) -> Certification:
    """Say whether a file is the one that a certificate is about, and whether its text is as it was written.

    The file is compared, never loaded: no code in it can run. Who wrote the certificate, a signature of its file shows:
    ``ssh-keygen -Y verify``.

    Parameters
    ----------
    file : path
        The published model, in a file of any kind.
    certificate : path
        The certificate.
    ledger : Ledger, optional
        The ledger that should have paid for it. One that does not hold the entry which the certificate names was put
        back to an older copy.

    Returns
    -------
    Certification
        Its `holds` is the answer.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> publication = seepage.publish(Ridge().fit(X, y), X, y, noise_scale=2.0, accept={"error_floor": {"age": 5.0}})
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = publication.write(folder / "model.skops")
    >>> found = seepage.certify(folder / "model.skops", folder / "model.certificate.json")
    >>> found.holds
    True
    >>> found.about_file()
    'This is the certified file, byte for byte.'
    """
    document = Certificate.read(certificate)
    try:
        digits, content = hash_of_file(Path(file)), Path(certificate).read_bytes()
    except FileNotFoundError as reason:
        raise InputError(f"There is no file {reason.filename!r}.") from None
    except OSError as reason:
        raise InputError(f"{reason.filename!r} cannot be read: {reason.strerror}.") from None
    if document.seal["file"] is None:
        raise InputError(
            "The certificate names no file, and a file may hold more than its parameters.\n"
            "Bind it to the file that you pass on: certificate.bound_to(file)"
        )
    text = document.text().encode()
    has_windows_lines = content != text and content.replace(b"\r\n", b"\n") == text
    paid = None if ledger is None else _ledger_state(document, ledger)
    return Certification(document, document.seal["file"] == digits, content == text, has_windows_lines, paid)


def _ledger_state(certificate: Certificate, ledger: Ledger) -> LedgerState:
    if certificate.ledger is None:
        return LedgerState.UNNAMED
    number, seal = int(certificate.ledger["entry"]), certificate.ledger["seal"]
    entries = ledger.entries
    if number >= len(entries) or entries[number].seal != seal or entries[number].kind != "debit":
        return LedgerState.ROLLED_BACK
    kept = ledger.certificate_of(entries[number])
    if kept is None:
        # It has left, and this ledger does not know: whatever came after the debit is not there.
        return LedgerState.ROLLED_BACK
    sealed = kept.get("seal")
    same = isinstance(sealed, dict) and sealed.get("parameters") == certificate.seal["parameters"]
    return LedgerState.PAID if same else LedgerState.OTHER_RELEASE
