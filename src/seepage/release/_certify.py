"""Whether a file is the one that a certificate is about, the certificate as it was signed, and its ledger whole."""

import os
import zipfile
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from seepage._signing import called, is_signed, public_key_of
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


class SignatureState(Enum):
    """What the signature of a certificate says."""

    SIGNED = "signed"
    UNKNOWN_SIGNER = "unknown signer"
    OTHER_SIGNER = "other signer"
    NONE = "none"
    BROKEN = "broken"


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
    signature : SignatureState
        Whether the certificate is signed, and by whom.
    is_as_written : bool
        Whether the text of the certificate is exactly as seepage writes it: also a space more is an edit.
    is_signer_known : bool
        Whether a public key was given to hold the signature against.
    ledger : LedgerState or None
        What the ledger says that was given; None if none was.
    """

    certificate: Certificate
    file: FileState
    signature: SignatureState
    is_as_written: bool
    is_signer_known: bool
    ledger: LedgerState | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against file or certificate."""
        wanted = {SignatureState.SIGNED}
        if not self.is_signer_known:
            wanted = {SignatureState.UNKNOWN_SIGNER, SignatureState.NONE}
        is_file = self.file in (FileState.CERTIFIED, FileState.PARAMETERS)
        is_paid = self.ledger in (None, LedgerState.PAID)
        return is_file and is_paid and self.is_as_written and self.signature in wanted

    def about_file(self) -> str:
        """Return what was found about the file, in words."""
        return _FILE_WORDS[self.file]

    def about_ledger(self) -> str | None:
        """Return what the ledger says, in words; None if none was given."""
        return None if self.ledger is None else _LEDGER_WORDS[self.ledger]

    def about_certificate(self) -> str:
        """Return what was found about the certificate, in words."""
        if self.signature is SignatureState.BROKEN:
            return "It was edited after it was signed: the signature does not belong to what it says."
        if not self.is_as_written:
            return "It was edited: its text is not as seepage writes it."
        if self.signature is SignatureState.NONE:
            return "It is not signed: nobody can tell whether it was edited, or who wrote it."
        who = called(self.certificate.signature["public_key"]) if self.certificate.signature else ""
        if self.signature is SignatureState.OTHER_SIGNER:
            return f"It is signed with another key than the one given: {who}."
        if self.signature is SignatureState.SIGNED:
            return f"It is as it was signed, with the key given: {who}."
        return f"It is as it was signed with the key {who}. Whose key that is, only a public key you trust can tell."

    def __repr__(self) -> str:
        words = [self.about_file(), self.about_certificate(), self.about_ledger()]
        return f"Certification(holds={self.holds}: {' '.join(filter(None, words))})"


def certify(
    file: str | os.PathLike[str],
    certificate: str | os.PathLike[str],
    *,
    signer: str | os.PathLike[str] | None = None,
    ledger: Ledger | None = None,
) -> Certification:
    """Say whether a file is the one that a certificate is about, and whether the certificate is as it was signed.

    The file is compared, never loaded: no code in it can run.

    Parameters
    ----------
    file : path
        The published model, in a file of any kind.
    certificate : path
        The certificate.
    signer : path, optional
        The public key of whoever should have signed it. Without it a signature shows that nobody edited the certificate
        who has not signed it anew.
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
    >>> public = seepage.release.new_key(folder / "signing.key")
    >>> _ = publication.write(folder / "model.skops", sign=folder / "signing.key")
    >>> found = seepage.certify(folder / "model.skops", folder / "model.certificate.json", signer=public)
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
    return Certification(found, state, _signature_state(found, signer), is_as_written, signer is not None, paid)


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


def _signature_state(certificate: Certificate, signer: str | os.PathLike[str] | None) -> SignatureState:
    # A key that cannot be read should be known, whatever the certificate says.
    wanted = None if signer is None else public_key_of(signer)
    signature = certificate.signature
    if signature is None:
        return SignatureState.NONE
    if not is_signed(certificate.entries(), signature):
        return SignatureState.BROKEN
    if wanted is None:
        return SignatureState.UNKNOWN_SIGNER
    return SignatureState.SIGNED if wanted == signature["public_key"] else SignatureState.OTHER_SIGNER
