"""Fetch the data sets: `python -m experiments.datasets`."""

import sys

from experiments.datasets._files import FILES, fetch, folder


def main() -> int:
    """Fetch missing files; return 1 if one is still missing."""
    lacking = 0
    for name in FILES:
        if (folder() / name).is_file():
            print(f"here     {name}")
            continue
        try:
            fetch(name)
            print(f"fetched  {name}")
        except OSError as reason:
            print(f"MISSING  {name}: {reason}")
            lacking += 1
    print(f"{lacking} files are missing in {folder()}.")
    return int(lacking > 0)


if __name__ == "__main__":
    sys.exit(main())
