"""Names under which a ledger knows people: a keyed function of each id, which says nothing to whoever lacks the key.

What could be one person is one: ids are compared as text, with composed letters (NFC), without blanks around it, and
without zeros before or behind a whole number, so that 7, 7.0, "7", "7.0", "007" and "7 " have one name. To take two
people for one counts too much, and keeps every promise; to take one for two would break it. Two ids of one release that
have one name are refused.

An id of up to 15 bytes is one block m, and its name is AES(m) xor m under a key: to whoever lacks the key a random
function, and to whoever has it one that cannot be turned round, only tried. The blocks of a million people are one
call. Longer ids are rare, and get a keyed BLAKE2b (RFC 7693). When the key is changed, names go through the same
function once more, under the new key: nobody's id is needed for it, and who has the old key alone finds nobody.

A name alone protects nobody: who knows everybody but for one value would find the amounts again that stand beside the
names. So every file but the entries is hidden by AES-GCM, and can be read in its own place alone; and so is what rows
decide in an entry.
"""

import hmac
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from hashlib import blake2b, sha256
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seepage.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

BYTES = 16
"""Of a name: two of 10^9 people share one with a probability of 10^-21."""
_FEWEST = 16
_HIDDEN = "what is hidden"
# Lengths are rounded up, to so many bytes or to as many of their first bits.
_STEP = 2**12
_BITS_OF_LENGTHS = 6
# Whole numbers beyond are not all floats.
_WHOLE = 2.0**53


@dataclass(frozen=True)
class Names:
    """The names of people, by a key of the institution."""

    key: bytes = field(repr=False)
    older: tuple[bytes, ...] = field(default=(), repr=False)
    """The keys that were in force before, the oldest first."""

    def __post_init__(self) -> None:
        for key in (*self.older, self.key):
            if not isinstance(key, bytes) or len(key) < _FEWEST:
                raise InputError(
                    f"The key of a ledger is at least {_FEWEST} secret bytes, such as secrets.token_bytes(32). Keep "
                    "it: without it nobody can be found in the ledger again."
                )

    @property
    def keys(self) -> tuple[bytes, ...]:
        """All keys, the oldest first."""
        return (*self.older, self.key)

    def followed_by(self, key: bytes) -> "Names":
        """Return the same people's names once the key is another."""
        return Names(key, self.keys)

    def of(self, ids: Iterable[object]) -> NDArray[np.void]:
        """Return the name of each id."""
        if isinstance(ids, str | bytes):
            raise InputError(f"ids lists people, such as [{ids!r}]; {ids!r} by itself would be read letter by letter.")
        texts = _texts(ids)
        blocks, long = _blocks(texts)
        first, *later = self.keys
        found = _ciphered(blocks, _derived("people", first))
        key = _derived("people of long names", first)
        for at in long.tolist():
            digest = blake2b(texts[at].as_py(), digest_size=BYTES, key=key).digest()
            found[at] = np.frombuffer(digest, dtype=np.uint8)
        for each in later:
            found = _ciphered(found, _derived("people once more", each))
        return np.ascontiguousarray(found).view(f"V{BYTES}").ravel()

    def renamed(self, names: NDArray[np.void]) -> NDArray[np.void]:
        """Return the names that people have now, from those that they had under the key before."""
        blocks = np.ascontiguousarray(names).view(np.uint8).reshape(len(names), BYTES)
        return _ciphered(blocks, _derived("people once more", self.key)).view(f"V{BYTES}").ravel()

    def seal(self, text: str, key: bytes | None = None) -> str:
        """Return a seal on some text that only whoever has the key can make."""
        return hmac.digest(self.key if key is None else key, text.encode(), "sha256").hex()

    def hidden(self, content: bytes, about: str) -> bytes:
        """Return some bytes so that only whoever has the key can read them, and only as what they are about.

        How many they are is hidden too, but for a few percent and a few thousand.
        """
        whole = len(content).to_bytes(8, "little") + content
        whole += bytes(-len(whole) % max(_STEP, 1 << len(whole).bit_length() >> _BITS_OF_LENGTHS))
        nonce = secrets.token_bytes(12)
        return nonce + _aead(_derived(_HIDDEN, self.key)).encrypt(nonce, whole, about.encode())

    def shown(self, content: bytes, about: str) -> bytes | None:
        """Return what was hidden; None if it was hidden by a key of others, or changed, or is about something else."""
        from cryptography.exceptions import InvalidTag

        for key in reversed(self.keys):
            with suppress(InvalidTag, ValueError):
                whole = bytes(_aead(_derived(_HIDDEN, key)).decrypt(content[:12], content[12:], about.encode()))
                return whole[8 : 8 + int.from_bytes(whole[:8], "little")]
        return None


def _derived(purpose: str, key: bytes) -> bytes:
    """Return a key under another name, so that nothing made for one purpose serves another."""
    return sha256(f"{purpose} ".encode() + key).digest()


def _ciphered(blocks: NDArray[np.uint8], key: bytes) -> NDArray[np.uint8]:
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        raise MissingExtraError(
            "A ledger hides ids with cryptography, which is not installed. Install it with: pip install "
            '"seepage[ledger]"'
        ) from None
    # Each block is by itself on purpose: the same person has the same name in every release.
    cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    whole = cipher.update(blocks.tobytes()) + cipher.finalize()
    return np.frombuffer(whole, dtype=np.uint8).reshape(blocks.shape) ^ blocks


def _aead(key: bytes) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def _texts(ids: Iterable[object]) -> pa.BinaryArray:
    """Return each id as bytes, written in the one way that ids are compared."""
    given = ids if isinstance(ids, np.ndarray | list) else list(ids)
    try:
        found = pa.array(given, from_pandas=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        # People of several kinds, such as 7 and "x".
        return _one_by_one(given)
    if isinstance(found, pa.ChunkedArray) or found.null_count:
        return _one_by_one(given)
    if pa.types.is_floating(found.type):
        numbers = found.to_numpy(zero_copy_only=False).astype(np.float64)
        if not ((np.trunc(numbers) == numbers) & (np.abs(numbers) < _WHOLE)).all():
            return _one_by_one(given)
        found = pa.array(numbers.astype(np.int64))
    if pa.types.is_integer(found.type):
        return pc.cast(found, pa.string()).cast(pa.binary())
    if pa.types.is_string(found.type) or pa.types.is_binary(found.type):
        return _alike(found)
    return _one_by_one(given)


def _one_by_one(ids: Iterable[object]) -> pa.BinaryArray:
    return _alike(pa.array([_text(each) for each in ids], pa.binary()))


def _alike(texts: pa.Array) -> pa.BinaryArray:
    """Write texts in one way: composed letters, no blanks around them, no zeros before or behind a whole number."""
    try:
        texts = pc.utf8_trim_whitespace(pc.utf8_normalize(texts.cast(pa.string()), form="NFC"))
    except pa.ArrowInvalid:
        return _some_bytes(texts)
    if pc.any(pc.match_substring(texts, ".0")).as_py():
        # A column of whole numbers of which one was missing, read as floats and written as text.
        texts = pc.replace_substring_regex(texts, r"^(-?[0-9]+)\.0+$", r"\1")
    if pc.any(pc.starts_with(texts, "0")).as_py():
        texts = pc.replace_substring_regex(texts, r"^0+([0-9]+)$", r"\1")
    if pc.any(pc.equal(texts, "")).as_py():
        raise InputError("An id is empty, which names nobody. A ledger needs an id for each person.")
    return texts.cast(pa.binary())


def _some_bytes(ids: pa.Array) -> pa.BinaryArray:
    """Write ids of which some are bytes and no text, such as those of UUIDs: these are compared as they are."""
    found: list[bytes] = ids.cast(pa.binary()).to_pylist()
    for at, each in enumerate(found):
        try:
            text = each.decode()
        except UnicodeDecodeError:
            continue
        found[at] = _alike(pa.array([text]))[0].as_py()
    return pa.array(found, pa.binary())


def _blocks(texts: pa.BinaryArray) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """Return each text in a block of its own, with its length behind it; and which are too long for one."""
    blocks = np.zeros((len(texts), BYTES), dtype=np.uint8)
    if not len(texts):
        return blocks, np.empty(0, dtype=np.intp)
    _, starts, content = texts.buffers()
    offsets = np.frombuffer(starts, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    lengths = np.diff(offsets)
    short = lengths < BYTES
    # The bytes of all texts follow each other, as do those of the blocks that they go to.
    whole = np.frombuffer(content or b"", dtype=np.uint8)[offsets[0] : offsets[-1]]
    kept = np.where(short, lengths, 0)
    blocks[np.arange(BYTES) < kept[:, None]] = whole if short.all() else whole[np.repeat(short, lengths)]
    blocks[:, -1] = kept
    return blocks, np.flatnonzero(~short)


def _text(given: object) -> bytes:
    if isinstance(given, str):
        return given.encode()
    if isinstance(given, bool | np.bool_) or given is None or type(given).__name__ in ("NAType", "NaTType"):
        raise InputError(f"{given!r} names nobody. A ledger needs an id for each person.")
    if isinstance(given, Integral):
        return b"%d" % int(given)
    if isinstance(given, Real):
        number = float(given)
        if not number.is_integer():
            raise InputError(f"{given!r} is no id: a person's id is text or a whole number.")
        return b"%d" % int(number)
    if isinstance(given, bytes):
        return given
    if isinstance(given, date | np.datetime64):
        raise InputError(f"{given!r} is no id: a person's id is text or a whole number.")
    return str(given).encode()
