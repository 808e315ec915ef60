"""Run one experiment by name."""

import importlib
import sys
from pathlib import Path


def main() -> int:
    """Run the experiment that the command line names."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    if len(sys.argv) < 2 or sys.argv[1] not in names:
        print(f"usage: python -m experiments NAME\nnames: {', '.join(names)}")
        return 2
    importlib.import_module(f"experiments.{sys.argv[1]}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
