"""Pseudonyms of people: a keyed hash of each id (BLAKE2b, RFC 7693), which reveals nothing without the key.

Ids that could be one person are one: they are compared as text without case, without blanks around it, without zeros
before or behind a whole number, without letters that have no width, and with digits and letters in their plain form
(NFKC). 7, 7.0, "7", "007", "7.0" and a full-width "7" have one pseudonym. To take two people for one counts too much,
and keeps every promise; to take one for two would break it. Two ids of one release with one pseudonym are refused.
"""

import hmac
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from hashlib import blake2b
from numbers import Integral, Real

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seepage.errors import InputError

BYTES = 16
"""Of a pseudonym: two of 10^9 people share one with a probability of 10^-21."""
_SHORTEST_KEY = 16


@dataclass(frozen=True)
class Names:
    """The pseudonyms of people, and the seals of entries, by a key of the institution."""

    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.key, bytes) or len(self.key) < _SHORTEST_KEY:
            raise InputError(
                f"The key of a ledger is at least {_SHORTEST_KEY} secret bytes, such as secrets.token_bytes(32).\n"
                "Keep it: without it no person can be looked up in the ledger again."
            )

    def of(self, ids: Iterable[object]) -> NDArray[np.void]:
        """Return the pseudonym of each id."""
        if isinstance(ids, str | bytes):
            raise InputError(f"ids lists people, such as [{ids!r}]; {ids!r} by itself would be read letter by letter.")
        return self._hashes("people", _texts(ids).cast(pa.binary()).to_pylist())

    def tombstones(self, names: NDArray[np.void]) -> list[str]:
        """Return other pseudonyms of people, under which they are known once they are forgotten."""
        return [name.tobytes().hex() for name in self._hashes("forgotten", names.tolist())]

    def seal(self, text: str, content: bytes = b"") -> str:
        """Return a seal on a text, and on bytes after it, that only the key can make."""
        return hmac.digest(self._derived("seal"), text.encode() + b"\0" + content, "sha256").hex()

    def _hashes(self, purpose: str, texts: Iterable[bytes]) -> NDArray[np.void]:
        fresh = blake2b(digest_size=BYTES, key=self._derived(purpose)).copy

        def digest(text: bytes) -> bytes:
            state = fresh()
            state.update(text)
            return state.digest()

        return np.frombuffer(b"".join(map(digest, texts)), dtype=f"V{BYTES}")

    def _derived(self, purpose: str) -> bytes:
        """Return the key under another name, so that nothing made for one purpose serves another."""
        return hmac.digest(self.key, purpose.encode(), "sha256")


def _texts(ids: Iterable[object]) -> pa.Array:
    """Return each id as text, written in the one way in which ids are compared."""
    if isinstance(ids, np.ndarray) and ids.dtype.kind in "iufUO":
        ids = ids.tolist()
    elif isinstance(ids, pa.Array | pa.ChunkedArray):
        ids = ids.to_pylist()
    texts = pa.array([one if type(one) is str else _text(one) for one in ids], pa.string())
    if not pc.all(pc.string_is_ascii(texts)).as_py():
        texts = pa.array([text if text.isascii() else _plain(text) for text in texts.to_pylist()], pa.string())
    texts = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    # Also a column of whole numbers of which one was missing, read as floats and written as text.
    texts = pc.replace_substring_regex(texts, r"^(-?[0-9]+)\.0+$", r"\1")
    texts = pc.replace_substring_regex(texts, r"^0+([0-9]+)$", r"\1")
    if pc.any(pc.equal(texts, "")).as_py():
        raise InputError("An id is empty. A ledger needs an id for each person.")
    return texts


def _plain(text: str) -> str:
    """Return text with compatible letters composed, digits as 0 to 9, and no marks without width."""
    letters = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(
        str(unicodedata.decimal(letter, letter)) for letter in letters if unicodedata.category(letter) != "Cf"
    )


def _text(given: object) -> str:
    if type(given) is int:
        return str(given)
    if isinstance(given, bool | np.bool_) or given is None or type(given).__name__ in ("NAType", "NaTType"):
        raise InputError(f"{given!r} is no id. A ledger needs an id for each person.")
    if isinstance(given, bytes):
        try:
            return given.decode()
        except UnicodeDecodeError:
            return given.hex()
    if isinstance(given, Integral) or (isinstance(given, Real) and float(given).is_integer()):
        return str(int(given))  # type: ignore[call-overload]
    if isinstance(given, Real | date | np.datetime64 | list | tuple | dict | set | np.ndarray):
        raise InputError(f"{given!r} is no id: the id of a person is text or a whole number.")
    return str(given)
