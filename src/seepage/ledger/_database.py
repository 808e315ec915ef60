"""The database of a ledger: SQLite on one machine, PostgreSQL for several, through SQLAlchemy Core.

Transactions, locks, durability, backups and rights are the database's. Each transaction opens a connection of its own:
nothing is left open in a process that is forked or killed, or by a server that restarts.
"""

import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sql
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

from seepage.errors import InputError, StorageError


def _number(name: str) -> "sql.Column[int]":
    return sql.Column(name, sql.Integer, primary_key=True, autoincrement=False)


_TABLES, _BYTES = sql.MetaData(), sql.LargeBinary
ENTRIES = sql.Table("seepage_entries", _TABLES, _number("number"), sql.Column("entry", sql.Text))
SUMS = sql.Table(
    "seepage_sums", _TABLES, _number("bucket"), sql.Column("hash", sql.Text), sql.Column("content", _BYTES)
)
DEBITS = sql.Table("seepage_debits", _TABLES, _number("entry"), _number("bucket"))
DEBITS.append_column(sql.Column("seal", sql.Text))
DEBITS.append_column(sql.Column("content", _BYTES))

# Seconds: for another process that writes to the same file, and for a server that restarts.
_BUSY, _RESTART = 600.0, 60.0
# SQLSTATE of transactions that were rolled back to be tried again, and of servers that stop or start.
_PASSING = ("40001", "40P01", "57P01", "57P02", "57P03")

Answer = TypeVar("Answer")


@dataclass(eq=False)
class Database:
    """The three tables of a ledger."""

    place: str
    """Its file or address, without a password."""
    engine: Engine
    was_reached: bool = field(default=False, repr=False)

    @classmethod
    def at(cls, place: str | Path) -> "Database":
        """Return the database in a file of SQLite or at an address of PostgreSQL."""
        text = os.fspath(place)
        kind, _, address = text.partition("://")
        if not address:
            connect = partial(_connect, Path(text))
            return cls(text, sql.create_engine("sqlite://", creator=connect, poolclass=NullPool))
        try:
            if kind != "postgresql":
                raise ArgumentError
            engine = sql.create_engine(f"postgresql+psycopg://{address}", poolclass=NullPool)
        except (ArgumentError, ValueError):
            raise InputError(
                f"{text!r} is no place of a ledger: name a file, such as ledger.db, or a PostgreSQL database,\n"
                "such as postgresql://user@server/database."
            ) from None
        return cls(engine.url.set(drivername=kind).render_as_string(hide_password=True), engine)

    @property
    def is_file(self) -> bool:
        """Whether it is a file of SQLite."""
        return self.engine.dialect.name == "sqlite"

    def create(self, first: str) -> None:
        """Make the tables with a first entry; refuse a place that has them, or a file that exists."""
        if not self.is_file:
            self.transact(partial(self._create, first), write=True)
            return
        try:
            # Readable by its owner alone: it holds sums of people under pseudonyms.
            os.close(os.open(self.place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError as error:
            raise InputError(
                f"A ledger cannot be made at {self.place}: {error.strerror}. Name another place."
            ) from None
        try:
            self.transact(partial(self._create, first), write=True)
        except BaseException:
            os.unlink(self.place)
            raise

    def _create(self, first: str, connection: Connection) -> None:
        if self.has_tables(connection):
            raise InputError(f"A ledger cannot be made at {self.place}: there is one.")
        _TABLES.create_all(connection)
        if not self.is_file:
            for table in (SUMS, DEBITS):
                # Sums of information have no two digits alike: compressing them costs time and saves nothing.
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ALTER COLUMN content SET STORAGE EXTERNAL")
        connection.execute(ENTRIES.insert().values(number=0, entry=first))

    def has_tables(self, connection: Connection) -> bool:
        """Return whether a ledger was made here."""
        return sql.inspect(connection).has_table(ENTRIES.name)

    def transact(self, work: Callable[[Connection], Answer], *, write: bool = False) -> Answer:
        """Run some work in one transaction; again, if the database rolled it back or restarted meanwhile."""
        began = time.monotonic()
        while True:
            try:
                with self._begun(write) as connection:
                    answer = work(connection)
                self.was_reached = True
                return answer
            except DBAPIError as error:
                state = getattr(error.orig, "sqlstate", None)
                is_lost = not self.is_file and self.was_reached and (state is None or error.connection_invalidated)
                if not (is_lost or state in _PASSING) or time.monotonic() - began > _RESTART:
                    reason = str(error.orig).strip().partition("\n")[0]
                    raise StorageError(self.place, reason) from error
            time.sleep(random.uniform(0.01, 0.2))

    def lock(self, connection: Connection) -> None:
        """Wait until no other transaction writes: what is read from here on is the state that it left."""
        if not self.is_file:
            connection.exec_driver_sql(f"LOCK TABLE {SUMS.name} IN EXCLUSIVE MODE")

    @contextmanager
    def _begun(self, write: bool) -> Iterator[Connection]:
        """Yield a connection in a transaction that is committed at the end."""
        with self.engine.connect() as connection:
            if not self.is_file:
                level = "SERIALIZABLE" if write else "REPEATABLE READ"
                connection.execution_options(isolation_level=level, postgresql_readonly=not write)
            with connection.begin():
                if self.is_file:
                    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
                yield connection


def no_ledger(place: str) -> InputError:
    """Return the refusal of a place without a ledger."""
    return InputError(
        f"There is no ledger at {place}. Ledger.create makes one; at a terminal:\n"
        f"seepage ledger create {place} --key ledger.key --floor age=5 --unit age=years"
    )


def _connect(path: Path) -> sqlite3.Connection:
    """Open a file that is there already: SQLite would make an empty one."""
    if not path.is_file():
        raise no_ledger(str(path))
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=_BUSY, isolation_level=None, check_same_thread=False
    )
    # Pages of people who are forgotten are overwritten.
    connection.execute("PRAGMA secure_delete = ON")
    return connection
