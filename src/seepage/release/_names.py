"""Names that leave with a publication: of classes, and of levels of categories.

Which names a fit found in the rows is a choice that the rows made, and no count of people makes it anything else: that
enough of them have a name is told by its being there. So whoever publishes gives them.
"""

import csv
import io
from collections.abc import Sequence


def same_names(known: Sequence[object], given: Sequence[object]) -> bool:
    """Return whether the same names were given, in whatever order; the command line gives them as text."""
    return sorted(map(_text, known)) == sorted(map(_text, given))


def written(names: Sequence[object]) -> str:
    """Return names as one option of the command line: separated by commas, in quotes if one has a comma."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(map(_text, names))
    return line.getvalue()


def read_names(text: str) -> list[str]:
    """Return the names of an option."""
    return next(csv.reader([text], skipinitialspace=True), [])


def _text(name: object) -> str:
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)
