"""A document as files in a folder: HTML, text, JSON and pictures, each complete by itself."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from seepage._writing import NewFile, write_together
from seepage.errors import InputError
from seepage.pages._document import Document
from seepage.pages._html import Picture, html
from seepage.pages._text import text

_ENDINGS = (".html", ".txt", ".json", ".png")


@dataclass(frozen=True)
class DocumentFiles:
    """The files of a document, by name.

    Attributes
    ----------
    stem : str
        The beginning of each name.
    content : mapping from str to bytes
        What the files hold.
    """

    stem: str
    content: Mapping[str, bytes]

    @classmethod
    def of(cls, stem: str, document: Document, pictures: Mapping[str, Picture]) -> "DocumentFiles":
        """Write a document in every format."""
        found = {
            f"{stem}.html": html(document, pictures).encode(),
            f"{stem}.txt": text(document).encode(),
            f"{stem}.json": f"{document.json()}\n".encode(),
        }
        drawn = {f"{stem}-{place}.png": picture.png() for place, picture in enumerate(pictures.values(), 1)}
        return cls(stem, {**found, **drawn})

    def write(self, folder: str | os.PathLike[str], *, replace: bool, private: bool) -> tuple[Path, ...]:
        """Write all of them into a folder, or none.

        A folder that holds anything else is refused: what an earlier edition left there would be handed on with this
        one.

        Parameters
        ----------
        folder : path
            A new folder, or an empty one.
        replace : bool
            Whether files that were written there before are replaced; those that are no longer made are removed.
        private : bool
            Whether their owner alone may read them.
        """
        place = Path(folder)
        stale = [each for each in self._there(place, replace) if each.name not in self.content]
        new = not place.exists()
        if new:
            place.mkdir(mode=0o700 if private else 0o777)
        try:
            write_together([NewFile(place / name, content, private) for name, content in self.content.items()])
        except BaseException:
            if new:
                place.rmdir()
            raise
        for each in stale:
            each.unlink()
        return tuple(place / name for name in self.content)

    def _there(self, place: Path, replace: bool) -> list[Path]:
        """Return what is there already; refuse what may not be touched."""
        if not place.exists():
            if not place.parent.is_dir():
                raise InputError(f"There is no folder {str(place.parent)!r} to make {place.name!r} in.")
            return []
        if not place.is_dir():
            raise InputError(f"{str(place)!r} is a file: name a folder.")
        found = sorted(place.iterdir())
        others = [each.name for each in found if not self._is_own(each)]
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

    def _is_own(self, path: Path) -> bool:
        own = path.stem == self.stem or path.stem.startswith(f"{self.stem}-")
        return path.is_file() and own and path.suffix in _ENDINGS
