"""A page and its twins: the same as HTML, text, table, JSON and pictures, each complete by itself.

A page is for a browser. Where outputs are decided about there is often none: SACRO Viewer shows CSV, pictures, text and
JSON, and OpenSAFELY lets these out.
"""

import csv
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from seepage._writing import NewFile, write_together
from seepage.errors import InputError
from seepage.pages._words import visible

_ENDINGS = (".html", ".txt", ".csv", ".json", ".png")
# A cell that begins so is a formula to a spreadsheet, whatever wrote it.
_FORMULA = re.compile(r"[=+@-](?![\d.]+$)")


@dataclass(frozen=True)
class Twins:
    """A page and its twins, as files in a folder.

    Attributes
    ----------
    stem : str
        What the files are called.
    html, text, json : str
        The page, and its twins.
    table : sequence of rows
        The twin for a spreadsheet, its heads first.
    pictures : mapping from str to bytes
        PNG by what is added to the stem; that of the empty name is complete by itself.
    private : bool
        Whether its owner alone may read it.
    """

    stem: str
    html: str
    text: str
    table: Sequence[Sequence[str]]
    json: str
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    private: bool = True

    def files(self) -> dict[str, bytes]:
        """Return all of them, by the name of the file."""
        found = {
            f"{self.stem}.html": self.html.encode(),
            f"{self.stem}.txt": f"{self.text.rstrip()}\n".encode(),
            f"{self.stem}.csv": as_csv(self.table).encode(),
            f"{self.stem}.json": f"{self.json.rstrip()}\n".encode(),
        }
        return found | {
            f"{self.stem}{'-' if name else ''}{name}.png": picture for name, picture in self.pictures.items()
        }

    def write(self, folder: str | os.PathLike[str], *, replace: bool = False) -> tuple[Path, ...]:
        """Write them into a folder, all or none.

        A folder that holds anything else is refused: what an earlier edition left there would be handed on with this
        one.

        Parameters
        ----------
        folder : path
            A new folder, or an empty one.
        replace : bool, default=False
            Whether twins that were written there before are replaced; those that there are no longer are removed.
        """
        place, files = Path(folder), self.files()
        stale = [each for each in self._there(place, replace) if each.name not in files]
        new = not place.exists()
        if new:
            place.mkdir(mode=0o700 if self.private else 0o777)
        try:
            write_together([NewFile(place / name, content, self.private) for name, content in files.items()])
        except BaseException:
            if new:
                place.rmdir()
            raise
        for each in stale:
            each.unlink()
        return tuple(place / name for name in files)

    def _there(self, place: Path, replace: bool) -> list[Path]:
        """Return what is there already; refuse what may not be touched."""
        if not place.exists():
            if not place.parent.is_dir():
                raise InputError(f"There is no folder {str(place.parent)!r} to make {place.name!r} in.")
            return []
        if not place.is_dir():
            raise InputError(f"{str(place)!r} is a file: name a folder.")
        found = sorted(place.iterdir())
        others = [each.name for each in found if not self._is_twin(each)]
        if others:
            raise InputError(
                f"The folder {str(place)!r} holds {others[0]!r}, which would be handed on with what is written here: "
                "name a new folder."
            )
        if found and not replace:
            raise InputError(
                f"The folder {str(place)!r} holds {found[0].name!r} already: name a new folder, or replace what is in "
                "it (replace=True)."
            )
        return found

    def _is_twin(self, path: Path) -> bool:
        own = path.stem == self.stem or path.stem.startswith(f"{self.stem}-")
        return path.is_file() and own and path.suffix in _ENDINGS


def as_csv(rows: Iterable[Sequence[str]]) -> str:
    """Return rows for a spreadsheet, in which no name is a formula."""
    written = StringIO()
    csv.writer(written, lineterminator="\n").writerows([list(map(_cell, row)) for row in rows])
    return written.getvalue()


def _cell(text: str) -> str:
    shown = visible(text)
    return f"'{shown}" if _FORMULA.match(shown) else shown
