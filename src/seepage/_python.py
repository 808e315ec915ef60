"""Names of Python's own library that Python 3.10 lacks."""

import sys

if sys.version_info >= (3, 11):
    import tomllib
    from enum import StrEnum
    from hashlib import file_digest
    from typing import NotRequired, Self
else:
    import hashlib
    from enum import Enum
    from typing import Any, BinaryIO

    import tomli as tomllib
    from typing_extensions import NotRequired, Self

    class StrEnum(str, Enum):
        """Names that are texts."""

        __str__ = str.__str__

    def file_digest(file: BinaryIO, name: str) -> Any:
        """Return the hash of an open file."""
        found = hashlib.new(name)
        for piece in iter(lambda: file.read(2**20), b""):
            found.update(piece)
        return found


__all__ = ["NotRequired", "Self", "StrEnum", "file_digest", "tomllib"]
