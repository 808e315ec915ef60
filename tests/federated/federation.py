"""A federation on loopback: one SuperLink and two SuperNodes, each a process, stopped whatever happens."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "flower.md"
_BLOCK = re.compile(r"```(?:python|toml)\n# (\S+)\n(.*?)```", re.S)


def write_app(folder: Path) -> Path:
    """Write the files of the how-to page, as they stand; return their folder."""
    files = dict(_BLOCK.findall(PAGE.read_text()))
    assert set(files) == {"digits/task.py", "digits/client_app.py", "digits/server_app.py", "pyproject.toml"}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "digits" / "__init__.py").touch()
    return folder


class Federation:
    """Flower's processes, and a way to run apps on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs = Path(sys.executable).parent
        source = Path(__file__).parents[2] / "src"
        self.environment = {
            **os.environ,
            "FLWR_HOME": str(folder / "home"),
            "FLWR_TELEMETRY_ENABLED": "0",
            "OMP_NUM_THREADS": "1",
            "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")])),
        }
        self.link, *self.nodes = _free_ports(3)
        (folder / "home").mkdir()
        address = f'[superlink.loopback]\naddress = "127.0.0.1:{self.link}"\ninsecure = true\n'
        (folder / "home" / "config.toml").write_text(f'[superlink]\ndefault = "loopback"\n\n{address}')

    def start(self, stack: ExitStack) -> None:
        """Start the processes, to be stopped by the stack."""
        self._process(
            stack, "flower-superlink", "--insecure", "--disable-runtime-dependency-installation", "--port", self.link
        )
        _wait_for(self.link)
        for partition, port in enumerate(self.nodes):
            self._process(
                stack, "flower-supernode", "--insecure", "--superlink", f"127.0.0.1:{self.link}", "--port", port,
                "--node-config", f"partition-id={partition}",
            )  # fmt: skip

    def run(self, app: Path, output: Path, seconds: float = 300) -> str:
        """Run an app to its end; return what it logged."""
        output.mkdir()
        command = [self.programs / "flwr", "run", app, "loopback", "--stream", "--run-config", f'output="{output}"']
        done = subprocess.run(
            [str(part) for part in command],
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, done.stdout + self.logs()
        return done.stdout

    def logs(self) -> str:
        """Return what all processes have logged."""
        return "\n".join(f"== {path.name}\n{path.read_text()}" for path in sorted(self.folder.glob("*.log")))

    def _process(self, stack: ExitStack, program: str, *arguments: object) -> None:
        log = stack.enter_context((self.folder / f"{program}-{arguments[-1]}.log").open("w"))
        command = [str(self.programs / program), *map(str, arguments)]
        process = subprocess.Popen(
            command, env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        stack.callback(_stop, process)


@contextmanager
def federation(folder: Path) -> Iterator[Federation]:
    """Start a federation; leave no process behind."""
    found = Federation(folder)
    with ExitStack() as stack:
        found.start(stack)
        yield found


def _stop(process: "subprocess.Popen[bytes]") -> None:
    # Flower starts processes of its own, some of them in sessions of their own.
    try:
        family = [*psutil.Process(process.pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        family = []
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _, left = psutil.wait_procs(family, timeout=5)
    for child in left:
        child.kill()
    psutil.wait_procs(left, timeout=5)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for found in sockets:
            found.bind(("127.0.0.1", 0))
        return [found.getsockname()[1] for found in sockets]


def _wait_for(port: int, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < end, f"Nothing listens on port {port}."
            time.sleep(0.2)
        else:
            return
