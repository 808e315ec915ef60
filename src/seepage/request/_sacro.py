"""A verdict for SACRO: a folder that SACRO Viewer opens, or records in a session of ACRO.

Written from the field names that both document: results by id with status, properties, files, outcome, summary,
timestamp and comments; the risk appetite in `config.json`; the SHA-256 of each file in `checksums`.
"""

import json
import re
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from seepage._records import Json
from seepage._version import __version__
from seepage._writing import NewFile, write_together
from seepage.errors import InputError
from seepage.pages import DocumentFiles, name, visible
from seepage.request._decided import Decided, OutputVerdict
from seepage.request._document import headline, why

# The version of ACRO whose folders these are like; ACRO itself reads those of its own version alone.
_FORMAT = "1.0.2"
_COMMAND = "seepage check"
# ACRO copies files of this type, whatever they are.
_TYPE = "custom"
_RESERVED = ("results.json", "config.json", "outputs.json")
# The viewer shows summaries, comments and text as HTML: what looks like a tag becomes a quotation mark.
_MARKUP = str.maketrans("<>", "\u2039\u203a")


@dataclass(frozen=True)
class Record:
    """One output, or the verdict on all of them, as SACRO knows it."""

    uid: str
    status: str
    what: str
    summary: str
    why: str
    files: tuple[str, ...]
    comments: tuple[str, ...]

    @property
    def properties(self) -> dict[str, Json]:
        """What the viewer shows beside its name."""
        return {"method": self.what, "tool": f"seepage {__version__}"}

    @property
    def outcome(self) -> dict[str, dict[str, str]]:
        """What was decided and why, as a table of one row."""
        return {"verdict": {"0": self.status}, "why": {"0": self.why}}

    def entry(self, timestamp: str) -> dict[str, Json]:
        """Return it as it stands in `results.json`."""
        return {
            "uid": self.uid,
            "status": self.status,
            "type": _TYPE,
            "properties": self.properties,
            "files": [{"name": each, "sdc": {}} for each in self.files],
            "outcome": {key: dict(row) for key, row in self.outcome.items()},
            "command": _COMMAND,
            "summary": self.summary,
            "timestamp": timestamp,
            "comments": list(self.comments),
            "exception": "",
            "fair": {},
        }


@dataclass(frozen=True)
class Handed:
    """All that is handed to SACRO: the records, and the files that they name."""

    records: tuple[Record, ...]
    files: Mapping[str, bytes]


def write_folder(place: Path, verdict: Decided, written: DocumentFiles) -> None:
    """Write a folder that SACRO Viewer opens; it is never replaced, as decisions are written into it."""
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise InputError(
            f"{str(place)!r} is there already, and whoever reviewed it may have written into it: name a new folder."
        )
    if not place.parent.is_dir():
        raise InputError(f"There is no folder {str(place.parent)!r} to make {place.name!r} in.")
    handed = _handed(verdict, written, blocked=())
    timestamp = datetime.now(timezone.utc).isoformat(timespec="seconds")
    results = {
        "version": _version(),
        "tool": {"@type": "SoftwareApplication", "name": "seepage", "version": __version__},
        "results": {each.uid: each.entry(timestamp) for each in handed.records},
    }
    # What the viewer shows as the risk profile.
    profile = {**dict(verdict.limits), "seepage_policy": verdict.asked, "seepage_version": __version__}
    files = {**handed.files, "config.json": _dumped(profile), "results.json": _dumped(results)}
    (place / "checksums").mkdir(parents=True)
    sums = {f"checksums/{each}.txt": sha256(content).hexdigest().encode() for each, content in files.items()}
    # The results last: without them there is nothing to open.
    write_together([NewFile(place / each, content) for each, content in {**sums, **files}.items()])


def add_to(session: Any, verdict: Decided, written: DocumentFiles) -> None:
    """Add records to a session of ACRO, which copies their files when it is finalised."""
    # ACRO, whose session this is, has it.
    import pandas as pd

    blocked = tuple(str(each).lower() for each in session.config.get("blocked_extensions", ()))
    handed = _handed(verdict, written, blocked=blocked)
    folder = tempfile.TemporaryDirectory(prefix="seepage-")
    # They are copied when the session is finalised, and must be there until then.
    weakref.finalize(session, folder.cleanup)
    place = Path(folder.name)
    for each, content in handed.files.items():
        (place / each).write_bytes(content)
    for record in handed.records:
        session.results.add(
            status=record.status,
            output_type=_TYPE,
            properties=dict(record.properties),
            command=_COMMAND,
            summary=record.summary,
            outcome=pd.DataFrame.from_dict(record.outcome),
            output=[str(place / each) for each in record.files],
            comments=list(record.comments),
        )
        *others, last = session.results.get_keys()
        if record.uid not in others:
            session.results.rename(last, record.uid)


def _handed(verdict: Decided, written: DocumentFiles, blocked: tuple[str, ...]) -> Handed:
    """Return the outputs with their files, and the verdict with its files, but for the page."""
    told = {each: content for each, content in written.content.items() if not each.endswith(".html")}
    text = f"{written.stem}.txt"
    told[text] = told[text].decode().translate(_MARKUP).encode()
    files, records = dict(told), list[Record]()
    for each in verdict.outputs:
        comments, names = [], (text,)
        found = _file(verdict, each, blocked, taken=files)
        if isinstance(found, str):
            comments.append(found)
        elif found is not None:
            names = (found[0],)
            files[found[0]] = found[1]
        records.append(_record(each.name, each.word, each.what, _reason(each), names, comments))
    stages = " ".join(f"{each.name}: {each.word}." for each in verdict.stages)
    whole = f"{headline(verdict)}. {stages}".strip()
    comments = [verdict.asked]
    records.append(
        _record(f"{verdict.name} (verdict)", verdict.word, "verdict on all outputs", whole, tuple(told), comments)
    )
    return Handed(tuple(_apart(records)), files)


def _apart(records: list[Record]) -> Iterator[Record]:
    """Yield records with ids of their own, also where long names were cut."""
    seen: set[str] = set()
    for place, each in enumerate(records, 1):
        uid = each.uid if each.uid not in seen else f"{each.uid} ({place})"
        seen.add(uid)
        yield replace(each, uid=uid)


def _file(
    verdict: Decided, each: OutputVerdict, blocked: tuple[str, ...], taken: Mapping[str, bytes]
) -> tuple[str, bytes] | str | None:
    """Return the name and content of an output's file; a sentence if it is not handed over; None if there is none."""
    if verdict.folder is None or not each.file:
        return None
    path = verdict.folder / each.file
    if path.is_dir():
        return f"{each.file} is a folder, which is not copied."
    if path.suffix.lower() in blocked:
        return f"{each.file} is not copied: this session blocks {path.suffix} files."
    try:
        content = path.read_bytes()
    except OSError as reason:
        raise InputError(
            f"{str(path)!r} cannot be read any more ({reason.strerror}), and the folder is to hold it: check the "
            "request again."
        ) from None
    # The viewer reads every JSON in a folder as if it were its own.
    called = f"{each.file}.txt" if path.suffix.lower() == ".json" else each.file
    while called in taken or called in _RESERVED:
        called = f"output-{called}"
    return called, content


def _record(uid: str, status: str, what: str, reason: str, files: tuple[str, ...], comments: list[str]) -> Record:
    # What stands before the first semicolon is the status, and each further one begins another remark.
    plain = reason.replace("; ", ", ")
    summary = f"{status}; {plain}" if plain else status
    shown = tuple(_shown(each) for each in comments)
    return Record(name(uid, 120), status, _shown(what), _shown(summary), _shown(reason), files, shown)


def _reason(each: OutputVerdict) -> str:
    found = why(each)
    return found if each.checked else f"Not checked. {found}".strip()


def _shown(text: str) -> str:
    return visible(text).translate(_MARKUP)


def _version() -> str:
    try:
        return version("acro")
    except PackageNotFoundError:
        return _FORMAT


def _dumped(found: Mapping[str, object]) -> bytes:
    return f"{json.dumps(found, indent=4, allow_nan=False)}\n".encode()


def stem(verdict: Decided) -> str:
    """Return the name of its files among the files of a whole session."""
    return f"{re.sub(r'[^A-Za-z0-9_-]+', '-', verdict.name).strip('-') or 'request'}-verdict"
