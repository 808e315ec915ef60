"""TOML that people write by hand, read as numbers that can be computed with."""

from typing import Any

from seepage._python import tomllib

_TOO_LARGE = "a whole number in it is larger than 10^308, the largest that can be computed with"


def from_toml(text: str) -> dict[str, Any]:
    """Return what a text in TOML says; every reason not to is a `tomllib.TOMLDecodeError`."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from None
    except ValueError:
        # Python refuses to read whole numbers of thousands of digits.
        raise tomllib.TOMLDecodeError(_TOO_LARGE) from None
    _check_size(found)
    return found


def _check_size(value: object) -> None:
    """Refuse whole numbers, which TOML does not bound, that no float can be."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            _check_size(each)
    elif isinstance(value, int):
        try:
            float(value)
        except OverflowError:
            raise tomllib.TOMLDecodeError(_TOO_LARGE) from None
