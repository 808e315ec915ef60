"""Comparison of a file with its certificate, and of a certificate with the ledger that paid for it."""

import os
import zipfile
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from seepage.errors import InputError
from seepage.ledger import Ledger
from seepage.release._certificate import Certificate
from seepage.release._seal import PARAMETERS, hash_of_file, hash_of_parameters
from seepage.release._skops import SkopsFile


class FileState(Enum):
    """What a file is to a certificate."""

    CERTIFIED = "certified"
    PARAMETERS = "parameters"
    ALTERED = "altered"
    OTHER = "other"


class LedgerState(Enum):
    """What a ledger says of a certificate."""

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
_FILE_WORDS = {
    FileState.CERTIFIED: "This is the certified file, byte for byte.",
    FileState.PARAMETERS: "Its parameters are the certified ones. The certificate names no file, so nothing is said of "
    "what else this one holds.",
    FileState.ALTERED: "This is not the certified file: its parameters are the certified ones, but something else in "
    "it is not.",
    FileState.OTHER: "This is not the certified file.",
}


@dataclass(frozen=True)
class Certification:
    """What holding a file and a certificate against each other found.

    Attributes
    ----------
    certificate : Certificate
        As it was read.
    file : FileState
        What the file is to the certificate.
    is_as_written : bool
        Whether the text of the certificate is exactly as seepage writes it: also a space more is an edit.
    ledger : LedgerState or None
        What the ledger says that was given; None if none was.
    """

    certificate: Certificate
    file: FileState
    is_as_written: bool
    ledger: LedgerState | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against file or certificate."""
        is_file = self.file in (FileState.CERTIFIED, FileState.PARAMETERS)
        is_paid = self.ledger in (None, LedgerState.PAID)
        return is_file and is_paid and self.is_as_written

    def about_file(self) -> str:
        """Return what was found about the file, in words."""
        return _FILE_WORDS[self.file]

    def about_ledger(self) -> str | None:
        """Return what the ledger says, in words; None if none was given."""
        return None if self.ledger is None else _LEDGER_WORDS[self.ledger]

    def about_certificate(self) -> str:
        """Return what was found about the certificate, in words."""
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
    found = Certificate.read(certificate)
    try:
        os.stat(file)
        is_as_written = Path(certificate).read_bytes() == found.text().encode()
        state = _file_state(Path(file), found)
    except FileNotFoundError as reason:
        raise InputError(f"There is no file {reason.filename!r}.") from None
    except OSError as reason:
        raise InputError(f"{reason.filename!r} cannot be read: {reason.strerror}.") from None
    paid = None if ledger is None else _ledger_state(found, ledger)
    return Certification(found, state, is_as_written, paid)


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


def _file_state(path: Path, certificate: Certificate) -> FileState:
    wanted = certificate.seal
    if wanted["file"] is not None and wanted["file"] == hash_of_file(path):
        return FileState.CERTIFIED
    are_same = wanted["parameters"] == _parameters_hash(path)
    if wanted["file"] is not None:
        return FileState.ALTERED if are_same else FileState.OTHER
    if not zipfile.is_zipfile(path):
        raise InputError(
            f"The certificate names no file, so that parameters must be compared, and {str(path)!r} is no skops file: "
            "others could run code when they are opened. Bind the certificate to it: certificate.bound_to(file)"
        )
    return FileState.PARAMETERS if are_same else FileState.OTHER


def _parameters_hash(path: Path) -> str | None:
    """Return the hash of the parameters in a skops file, or None for whatever cannot be looked into."""
    if not zipfile.is_zipfile(path):
        return None
    try:
        return hash_of_parameters(SkopsFile.of(path).parameters(PARAMETERS))
    except InputError:
        return None
