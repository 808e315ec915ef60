"""Fetch the public data sets that the tests and experiments read: `python -m seepage.datasets [FOLDER]`."""

import argparse
import sys
from pathlib import Path

from seepage.datasets._catalog import fetch_all
from seepage.datasets._fetch import VARIABLE, get_data_home


def main(arguments: list[str] | None = None) -> int:
    """Fetch what is missing; return 1 if something still is."""
    parser = argparse.ArgumentParser(
        prog="python -m seepage.datasets",
        description="Fetch the public data sets that the tests and experiments read. Every file is checked against its "
        "published checksum; a download that broke off goes on where it stopped.",
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, help=f"where to ({get_data_home()} by default; {VARIABLE} is looked into first)"
    )
    folder = parser.parse_args(arguments).folder
    lacking = list(fetch_all(folder, print))
    if lacking:
        print(f"{len(lacking)} files are missing: tests that need them are left out, except in CI.")
        return 1
    print("All data sets are here." + ("" if folder is None else f" Tests find them with {VARIABLE}={folder}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
