"""Whether a file is the one that a certificate is about, and whether the certificate is as it was signed."""

import os
import zipfile
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from seepage._signing import called, is_signed, public_key_of
from seepage.errors import InputError
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
    """

    certificate: Certificate
    file: FileState
    signature: SignatureState
    is_as_written: bool
    is_signer_known: bool

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against file or certificate."""
        wanted = {SignatureState.SIGNED}
        if not self.is_signer_known:
            wanted = {SignatureState.UNKNOWN_SIGNER, SignatureState.NONE}
        is_file = self.file in (FileState.CERTIFIED, FileState.PARAMETERS)
        return is_file and self.is_as_written and self.signature in wanted

    def about_file(self) -> str:
        """Return what was found about the file, in words."""
        return _FILE_WORDS[self.file]

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
        return f"Certification(holds={self.holds}: {self.about_file()} {self.about_certificate()})"


def certify(
    file: str | os.PathLike[str],
    certificate: str | os.PathLike[str],
    *,
    signer: str | os.PathLike[str] | None = None,
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
    return Certification(found, state, _signature_state(found, signer), is_as_written, signer is not None)


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
