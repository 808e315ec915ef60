"""Which files of a Delta table's log tell one of its versions: a checkpoint, and what was committed after it."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import UUID

import pyarrow.parquet as pq

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.\d{10}\.(\d{10})|\.[0-9a-f-]{36})?\.(?:parquet|json)")
# Z85 of ZeroMQ: five letters for four bytes.
_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_UUID_LETTERS = 20


def tail(names: Iterable[str], version: int | None) -> list[str]:
    """Return the files that tell a version, the newest by default; all of them if it is not there."""
    every = sorted(names)
    commits = {int(found[1]): name for name in every if (found := _COMMIT.fullmatch(name))}
    if version is not None and version not in commits:
        return every
    parts: dict[tuple[int, str | None], list[str]] = {}
    for name in every:
        if found := _CHECKPOINT.fullmatch(name):
            # Of a checkpoint in parts, the name says how many they are; other names are whole ones.
            parts.setdefault((int(found[1]), found[2]), []).append(name)
    whole = {at: held for (at, count), held in parts.items() if count is None or len(held) == int(count)}
    last = max((at for at in whole if version is None or at <= version), default=-1)
    # With the commit of the checkpoint itself, which tells its time.
    after = [name for at, name in commits.items() if at >= last and (version is None or at <= version)]
    return [*whole.get(last, []), *after]


def vectors(log: Path) -> set[str]:
    """Return the files of deleted rows that a log names, below its table."""
    return {_placed(told["pathOrInlineDv"]) for told in _told(log) if told and told["storageType"] == "u"}


def _told(log: Path) -> Iterator[dict[str, str] | None]:
    for path in log.rglob("*.json"):
        # Not at other marks that end a line of text: names and values of partitions may hold these as they are.
        for line in path.read_bytes().split(b"\n"):
            if b'"deletionVector"' in line:
                yield json.loads(line).get("add", {}).get("deletionVector")
    for path in log.rglob("*.parquet"):
        file = pq.ParquetFile(path)
        wanted = [f"add.deletionVector.{name}" for name in ("storageType", "pathOrInlineDv")]
        if {*wanted} <= {file.schema.column(i).path for i in range(len(file.schema))}:
            for batch in file.iter_batches(columns=wanted):
                yield from (add and add["deletionVector"] for add in batch.column("add").to_pylist())


def _placed(written: str) -> str:
    """Return the file that a UUID in 20 letters stands for, in the folder that is named before them."""
    folder, letters = written[:-_UUID_LETTERS], written[-_UUID_LETTERS:]
    words = []
    for at in range(0, _UUID_LETTERS, 5):
        word = 0
        for letter in letters[at : at + 5]:
            word = 85 * word + _LETTERS.index(letter)
        words.append(word.to_bytes(4, "big"))
    name = f"deletion_vector_{UUID(bytes=b''.join(words))}.bin"
    return f"{folder}/{name}" if folder else name
