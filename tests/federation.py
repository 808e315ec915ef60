"""A federation on loopback, by the commands of the how-to page: each a process, stopped whatever happens."""

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

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "flower.md"
PORTS = ("8000", "9094", "9095")
_BLOCK = re.compile(r"```(?:python|toml)\n# (\S+)\n(.*?)```", re.S)
_COMMAND = re.compile(r"```bash\n((?:flower|flwr).*?)\n```", re.S)


def write_app(folder: Path) -> Path:
    """Write the files of the how-to page, as they stand; return their folder."""
    files = dict(_BLOCK.findall(PAGE.read_text()))
    del files["~/.flwr/config.toml"]
    assert set(files) == {"digits/task.py", "digits/client_app.py", "digits/server_app.py", "pyproject.toml"}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


class Federation:
    """Flower's processes, as the page starts them, and a way to run apps on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        source = Path(__file__).parents[1] / "src"
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "FLWR_HOME"},
            "HOME": str(folder / "home"),
            "FLWR_TELEMETRY_ENABLED": "0",
            "OMP_NUM_THREADS": "1",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")])),
        }
        text = PAGE.read_text()
        assert all(port in text for port in PORTS)
        # As they stand; other ports only where somebody else has the page's.
        if not all(map(_is_free, PORTS)):
            for port, free in zip(PORTS, _free_ports(len(PORTS)), strict=True):
                text = text.replace(port, str(free))
        *self.servers, self.command = _COMMAND.findall(text)
        assert [command.split()[0] for command in self.servers] == ["flower-superlink", *["flower-supernode"] * 2]
        config = folder / "home" / ".flwr" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(dict(_BLOCK.findall(text))["~/.flwr/config.toml"])
        self.ports = [int(re.search(r"--port (\d+)", command).group(1)) for command in self.servers]

    def start(self, stack: ExitStack, app: Path) -> None:
        """Start the processes in the folder of an app, to be stopped by the stack."""
        for command, port in zip(self.servers, self.ports, strict=True):
            log = stack.enter_context((self.folder / f"{command.split()[0]}-{port}.log").open("w"))
            # The shell makes way for what it starts: what is stopped is Flower.
            process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                env=self.environment,
                cwd=app,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
            stack.callback(_stop, process)
            _wait_for(port, process)

    def run(self, app: Path, seconds: float = 600) -> str:
        """Run an app to its end, by the page's command; return what it logged."""
        done = subprocess.run(
            ["bash", "-c", self.command],
            env=self.environment,
            cwd=app,
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


@contextmanager
def federation(folder: Path, app: Path) -> Iterator[Federation]:
    """Start a federation in the folder of an app; leave no process behind."""
    found = Federation(folder)
    with ExitStack() as stack:
        found.start(stack, app)
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


def _is_free(port: str) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", int(port))) != 0


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for found in sockets:
            found.bind(("127.0.0.1", 0))
        return [found.getsockname()[1] for found in sockets]


def _wait_for(port: int, process: "subprocess.Popen[bytes]", seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while True:
        assert process.poll() is None, f"{process.args} ended with {process.returncode}."
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < end, f"Nothing listens on port {port}."
            time.sleep(0.2)
        else:
            return
