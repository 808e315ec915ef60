"""The columns that files have in common, whatever each of them calls its types."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from seepage.errors import InputError

UUID = "extension<arrow.uuid>"
"""What pyarrow 18 and later write for the type of UUIDs; earlier ones have none."""


@dataclass(frozen=True, eq=False)
class Common:
    """The columns of several files."""

    schema: pa.Schema
    """Those that every file has, and the type that all can be read as."""
    odd: Mapping[str, str]
    """Why the others cannot be used: who asks for one is told."""

    @classmethod
    def of(cls, paths: Sequence[str], schemas: Sequence[pa.Schema]) -> "Common":
        """Compare the columns of files."""
        odd: dict[str, str] = {}
        fields: dict[str, dict[pa.Field, str]] = {}
        counts: dict[str, int] = {}
        # Most files are alike, and are compared once.
        alike: dict[pa.Schema, list[int]] = {}
        for place, schema in enumerate(schemas):
            alike.setdefault(schema.remove_metadata(), []).append(place)
        for schema, places in alike.items():
            for name, times in Counter(schema.names).items():
                if times > 1:
                    odd.setdefault(name, f"{paths[places[0]]} has two columns called {name!r}: rename one of them.")
                    continue
                fields.setdefault(name, {}).setdefault(schema.field(name).remove_metadata(), paths[places[0]])
                counts[name] = counts.get(name, 0) + len(places)
        found = []
        for name, kinds in fields.items():
            if counts[name] < len(paths):
                has = next(iter(kinds.values()))
                lacks = next(path for path, schema in zip(paths, schemas, strict=True) if name not in schema.names)
                odd.setdefault(name, f"The files differ in their columns: {has} has {name!r}, {lacks} has not.")
                continue
            kind = united([field.type for field in kinds])
            if kind is None:
                (first, one), (other, two) = next(iter(kinds.items())), _unlike(kinds)
                odd.setdefault(
                    name,
                    f"The column {name!r} holds {first.type} in {one} and {other.type} in {two}. Write it with the "
                    "same type in each of them.",
                )
            elif name not in odd:
                found.append(pa.field(name, read_as(kind)))
        return cls(pa.schema(found), odd)

    def require(self, columns: Iterable[str], what: str, example: str) -> None:
        """Refuse columns that the files do not have, or not all of them."""
        known = set(self.schema.names)
        for column in columns:
            if column in self.odd:
                raise InputError(self.odd[column])
            if column not in known:
                raise InputError(
                    f"{what} is {column!r}, which is no column of {example}. Its columns are {self.schema.names}."
                )

    @property
    def names(self) -> list[str]:
        """All columns, those too that only some of the files have."""
        return [*self.schema.names, *self.odd]


def united(kinds: Sequence[pa.DataType]) -> pa.DataType | None:
    """Return a type that holds the values of all of these, if there is one."""
    kinds = list(dict.fromkeys(kinds))
    if len(kinds) > 1:
        kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in kinds]
        # A view is another way to hold the same.
        views = ("string_view", "binary_view")
        kinds = list(dict.fromkeys(read_as(kind) if str(kind) in views else kind for kind in kinds))
    if len(kinds) > 1 and any(pa.types.is_decimal(kind) for kind in kinds):
        # Arrow's own choice has no room for all whole numbers, and beside short floats none for the digits of decimals.
        scale = max(kind.scale for kind in kinds if pa.types.is_decimal(kind))
        exact = pa.float64() if any(map(pa.types.is_floating, kinds)) else pa.decimal128(38, scale)
        kinds = [exact if pa.types.is_decimal(kind) or pa.types.is_integer(kind) else kind for kind in kinds]
    try:
        whole = pa.unify_schemas([pa.schema([("", kind)]) for kind in kinds], promote_options="permissive")
    except pa.ArrowTypeError:
        return None
    return whole.field(0).type


def read_as(kind: pa.DataType) -> pa.DataType:
    """Return the type that values of a type are read as: UUIDs as the text that people know them by."""
    if str(kind) in (UUID, "string_view"):
        return pa.string()
    is_bytes = pa.types.is_fixed_size_binary(kind) or pa.types.is_large_binary(kind) or str(kind) == "binary_view"
    return pa.binary() if is_bytes else kind


def _unlike(kinds: Mapping[pa.Field, str]) -> tuple[pa.Field, str]:
    first = next(iter(kinds)).type
    return next((field, path) for field, path in kinds.items() if united([first, field.type]) is None)


def partition_types(values: Iterable[Mapping[str, str | None]]) -> dict[str, pa.DataType]:
    """Return the types of columns that folders name: whole numbers if all are written as these are, else text."""
    found: dict[str, pa.DataType] = {}
    for each in values:
        for name, value in each.items():
            if value is not None and found.get(name) != pa.string():
                found[name] = pa.int64() if _is_whole(value) else pa.string()
            else:
                found.setdefault(name, pa.null())
    return {name: pa.string() if pa.types.is_null(kind) else kind for name, kind in found.items()}


def _is_whole(value: str) -> bool:
    try:
        # As a number, 01234 would be the people of 1234 too.
        return -(2**63) <= int(value) < 2**63 and str(int(value)) == value
    except ValueError:
        return False
