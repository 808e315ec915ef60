"""Signatures of certificates: Ed25519 over everything that a certificate says.

Keys are PEM files as OpenSSL writes and reads them: the secret one PKCS #8, readable by its owner alone, the public one
SubjectPublicKeyInfo.
"""

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from seepage._writing import NewFile, write_together
from seepage.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ALGORITHM = "Ed25519"
# What is signed begins with what it is, so that a signature of ours is good for nothing else.
_PURPOSE = b"seepage certificate\n"


def new_key(path: str | os.PathLike[str]) -> Path:
    """Make a key to sign certificates with.

    Parameters
    ----------
    path : path
        Where to write the secret key, such as "signing.key"; only its owner can read the file (mode 0600). The public
        key, which everyone may have, is written beside it: "signing.pub". Neither may exist.

    Returns
    -------
    Path
        The file of the public key.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import seepage
    >>> folder = Path(tempfile.mkdtemp())
    >>> seepage.release.new_key(folder / "signing.key").name
    'signing.pub'
    """
    secret, public = Path(path), Path(path).with_suffix(".pub")
    if secret == public:
        raise InputError(f"{str(public)!r} is where the public key will be. Give the secret one another ending: .key")
    for one in (secret, public):
        # A key that is replaced is lost, and with it what it could have shown.
        if one.exists() or one.is_symlink():
            raise InputError(f"{str(one)!r} exists, and keys are never replaced. Choose another name.")
    library = _library()
    pair = library.ed25519.Ed25519PrivateKey.generate()
    forms = library.serialization
    hidden = pair.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    shown = pair.public_key().public_bytes(forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo)
    write_together([NewFile(secret, hidden, private=True), NewFile(public, shown)])
    return public


def signature_of(entries: Mapping[str, object], key: str | os.PathLike[str]) -> dict[str, str]:
    """Return the signature of a certificate's entries under the secret key in a file."""
    secret = secret_key(Path(key))
    library = _library()
    forms = library.serialization
    public = secret.public_key().public_bytes(forms.Encoding.Raw, forms.PublicFormat.Raw)
    signature = {"algorithm": ALGORITHM, "public_key": public.hex()}
    return {**signature, "value": secret.sign(message(entries, signature)).hex()}


def is_signed(entries: Mapping[str, object], signature: Mapping[str, str]) -> bool:
    """Return whether a signature was made for these entries by the owner of the public key that it names."""
    try:
        public, value = (bytes.fromhex(signature[name]) for name in ("public_key", "value"))
    except ValueError:
        return False
    library = _library()
    try:
        library.ed25519.Ed25519PublicKey.from_public_bytes(public).verify(value, message(entries, signature))
    except (ValueError, library.exceptions.InvalidSignature):
        return False
    return True


def message(entries: Mapping[str, object], signature: Mapping[str, str]) -> bytes:
    """Return what is signed: canonical JSON of all entries, the algorithm and the public key.

    Names in order, no white space, letters beyond ASCII escaped, numbers with the fewest digits that give them back.
    """
    whole = {**entries, "signature": {name: signature[name] for name in ("algorithm", "public_key")}}
    return _PURPOSE + json.dumps(whole, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def public_key_of(path: str | os.PathLike[str]) -> str:
    """Return the public key in a file, as certificates name it."""
    library = _library()
    name = os.fspath(path)
    content = _content(Path(path))
    if b"PRIVATE KEY" in content:
        raise InputError(f"{name!r} is a secret key. Who signed is told by the public one: the file ending in .pub")
    try:
        public = library.serialization.load_pem_public_key(content)
    except ValueError:
        public = None
    if not isinstance(public, library.ed25519.Ed25519PublicKey):
        raise InputError(f"{name!r} is no public key of Ed25519 in PEM. Make a pair of keys with: seepage key new")
    forms = library.serialization
    return str(public.public_bytes(forms.Encoding.Raw, forms.PublicFormat.Raw).hex())


def called(public_key: str) -> str:
    """Return the short form of a public key that people can compare: 128 bits of its SHA-256."""
    return _short(bytes.fromhex(public_key))


def fingerprint_of(entries: Mapping[str, object]) -> str:
    """Return the short form of some entries that people can compare, whatever order they stand in."""
    return _short(json.dumps(entries, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii"))


def _short(content: bytes) -> str:
    digits = hashlib.sha256(content).hexdigest()[:32]
    return " ".join(digits[start : start + 4] for start in range(0, 32, 4))


def secret_key(path: Path) -> "Ed25519PrivateKey":
    """Return the secret key in a file that nobody else can read."""
    name = os.fspath(path)
    content = _content(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    # Windows has no modes to read: who may open a file stands elsewhere there.
    if os.name == "posix" and mode & 0o077:
        raise InputError(
            f"{name!r} can be read by others (mode {mode:04o}), who could then sign in your name. If nobody has, close "
            f"it with: chmod 600 {name}  Otherwise make a new one: seepage key new"
        )
    library = _library()
    try:
        secret = library.serialization.load_pem_private_key(content, password=None)
    except TypeError:
        raise InputError(f"{name!r} is locked with a password. Unlock a copy of it first.") from None
    except ValueError:
        secret = None
    if not isinstance(secret, library.ed25519.Ed25519PrivateKey):
        raise InputError(f"{name!r} is no secret key of Ed25519 in PEM. Make one with: seepage key new")
    found: Ed25519PrivateKey = secret
    return found


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            # A key has some hundred bytes.
            return file.read(65536)
    except FileNotFoundError:
        raise InputError(f"There is no key {str(path)!r}. Make one with: seepage key new") from None
    except OSError as reason:
        raise InputError(f"The key {str(path)!r} cannot be read: {reason.strerror}.") from None


def _library() -> SimpleNamespace:
    try:
        from cryptography import exceptions
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtraError(
            "Signatures are made and checked with cryptography, which is not installed. Install it with: "
            'pip install "seepage[sign]"'
        ) from None
    return SimpleNamespace(exceptions=exceptions, serialization=serialization, ed25519=ed25519)
