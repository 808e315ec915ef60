"""A terminal of 80 columns in which the command line is typed.

Every command is a process of its own. It is forked from one that has imported the libraries and loaded compiled code
already, for these take seconds; `Terminal(warm=False)` starts from nothing, as a user does.
"""

import importlib
import json
import os
import pkgutil
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Answer:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Both streams, without the spaces that fill lines."""
        return "\n".join(line.rstrip() for line in (self.out + self.err).splitlines())


class Terminal:
    """Runs commands in a folder."""

    def __init__(self, folder: Path, *, warm: bool = True) -> None:
        self.folder = folder
        self._warm = None
        if warm:
            self._warm = subprocess.Popen(
                [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environment()
            )

    def close(self) -> None:
        """Leave no process behind."""
        if self._warm is not None:
            self._warm.communicate()

    def run(self, command: str) -> Answer:
        """Run `seepage ...`."""
        name, *arguments = shlex.split(command)
        assert name == "seepage", command
        if self._warm is None:
            done = subprocess.run(
                [sys.executable, "-m", "seepage", *arguments],
                capture_output=True,
                text=True,
                cwd=self.folder,
                env=_environment(),
                check=False,
                timeout=300,
            )
            return Answer(done.returncode, done.stdout, done.stderr)
        out, err = (self.folder / f".{name}" for name in ("out", "err"))
        order = {"arguments": arguments, "folder": str(self.folder), "out": str(out), "err": str(err)}
        print(json.dumps(order), file=self._warm.stdin, flush=True)
        code = int(self._warm.stdout.readline())
        answer = Answer(code, out.read_text(), err.read_text())
        out.unlink()
        err.unlink()
        return answer


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TERMINAL_WIDTH")}
    return {**kept, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}


def _serve() -> None:
    import pandas
    import pyarrow.csv  # noqa: F401
    import skops.io  # noqa: F401
    from sklearn.linear_model import Ridge

    import seepage.cli
    import seepage.release
    import seepage.report

    for module in pkgutil.walk_packages(seepage.cli.__path__, "seepage.cli."):
        importlib.import_module(module.name)
    # A slow machine prints no progress between the lines that are compared.
    seepage.cli.terminal._waiting._LINES = 600.0
    rows = pandas.DataFrame({"a": [0.0, 1.0, 3.0], "b": [1.0, 0.0, 2.0]})
    labels = [0.0, 1.0, 2.0]
    seepage.measure(Ridge().fit(rows, labels), rows, labels, noise_scale=1.0)
    main = seepage.cli.main

    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            os.chdir(order["folder"])
            for number, name in ((1, "out"), (2, "err")):
                os.dup2(os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            os.close(0)
            sys.argv = ["seepage", *order["arguments"]]
            try:
                main()
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    _serve()
