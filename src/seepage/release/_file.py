"""The file of a model that leaves: a function of the model alone, to the last byte.

Skops names objects and entries by addresses in memory, and dates them. Where things lie in the memory of a process
that has read the rows is nobody's business, so they are numbered in the order in which they are mentioned.
"""

import io
import json
import zipfile

from seepage._tables import Model
from seepage.errors import MissingExtraError

_DESCRIPTION, _NUMBER = "schema.json", "__id__"


def as_skops(estimator: Model) -> bytes:
    """Return a skops file of a model; the same model makes the same file."""
    try:
        from skops.io import dumps
    except ImportError:
        raise MissingExtraError(
            'Models are written with skops, which is not installed. Install it with: pip install "seepage[publish]"'
        ) from None
    with zipfile.ZipFile(io.BytesIO(dumps(estimator))) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    numbering = _Numbering({name for name in entries if name != _DESCRIPTION})
    description = json.dumps(numbering.of(json.loads(entries.pop(_DESCRIPTION))), indent=2)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in sorted(entries, key=lambda name: numbering.names.get(name, name)):
            archive.writestr(zipfile.ZipInfo(numbering.names.get(name, name)), entries[name])
        archive.writestr(zipfile.ZipInfo(_DESCRIPTION), description)
    return content.getvalue()


class _Numbering:
    """Numbers of objects and names of entries, as they are met in a description."""

    def __init__(self, entries: set[str]) -> None:
        self._entries = entries
        self._numbers: dict[int, int] = {}
        self.names: dict[str, str] = {}

    def of(self, node: object) -> object:
        """Return a part of the description with its own numbers."""
        if isinstance(node, dict):
            return {key: self._number(value) if key == _NUMBER else self.of(value) for key, value in node.items()}
        if isinstance(node, list):
            return [self.of(each) for each in node]
        if isinstance(node, str) and node in self._entries:
            ending = node.partition(".")[2]
            return self.names.setdefault(node, f"{len(self.names) + 1:05d}.{ending}")
        return node

    def _number(self, address: int) -> int:
        return self._numbers.setdefault(address, len(self._numbers) + 1)
