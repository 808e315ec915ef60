"""A PostgreSQL server on loopback, with its files in a temporary folder."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg

# Write-ahead logs are removed and not used again, so that no bytes of people are left in them.
OPTIONS = "-c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c wal_recycle=off -c fsync=off"


@dataclass
class Server:
    """A server that can be killed and started again."""

    folder: Path
    port: int
    databases: int = 0

    def run(self, tool, *arguments):
        """Run a tool of PostgreSQL, which refuses to be run by root."""
        tools = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        path = shutil.which(tool) or str(tools[-1] / tool)
        user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        subprocess.run([*user, path, *arguments], check=True, capture_output=True, cwd=self.folder)

    def start(self):
        log = str(self.folder / "log")
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-l", log, "-w", "-o", f"{OPTIONS} -p {self.port}", "start")

    def restart_after_a_kill(self):
        """Kill the server, and start it again once the processes that it has left are gone."""
        os.kill(int((self.folder / "data" / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        for _ in range(100):
            time.sleep(0.1)
            with suppress(subprocess.CalledProcessError):
                return self.start()
        raise TimeoutError

    def execute(self, *statements, database="postgres"):
        with psycopg.connect(f"postgresql://postgres@127.0.0.1:{self.port}/{database}", autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def place(self):
        """Return the address of a new database."""
        self.databases += 1
        self.execute(f"CREATE DATABASE ledger{self.databases}")
        return f"postgresql://postgres@127.0.0.1:{self.port}/ledger{self.databases}"


@contextmanager
def postgres():
    """Yield a server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = Path(tempfile.mkdtemp())
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
    server = Server(folder, port)
    try:
        server.run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8")
        server.start()
        yield server
    finally:
        server.run("pg_ctl", "-D", str(folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(folder)
