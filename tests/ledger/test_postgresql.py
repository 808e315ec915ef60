"""A ledger in PostgreSQL: processes at once, a server that is killed, and nothing of people who are forgotten."""

import secrets

import pytest
from ledger.server import postgres
from ledger.traces import traces_of
from race import PEOPLE, YEARS, leak
from racing import raced

import seepage
from seepage.ledger import Ledger


@pytest.mark.postgresql
def test_a_ledger_on_a_server():
    with postgres() as server:
        place = server.place()
        raced(place, room=30, processes=2, kills=2, restart=server.restart_after_a_kill)
        # Its debits are those of the same release.
        server.execute("DROP DATABASE ledger1")
        key, place = secrets.token_bytes(32), server.place()
        with pytest.raises(seepage.errors.InputError, match="There is no ledger"):
            Ledger(place, key=key)
        ledger = Ledger.create(place, key=key, error_floor={"age": 1e-3}, units=YEARS)
        with pytest.raises(seepage.errors.InputError, match="there is one"):
            Ledger.create(place, key=key, eta=1.0)
        with pytest.raises(seepage.errors.StorageError, match="does not exist"):
            Ledger(place + "x", key=key)
        for _ in range(3):
            ledger.post(leak(), title="one", units=YEARS)
        server.execute("CHECKPOINT")
        traces = traces_of(ledger, PEOPLE[5])
        files = server.folder / "data"

        def left():
            contents = [path.read_bytes() for path in files.rglob("*") if path.is_file()]
            return sum(any(trace in content for content in contents) for trace in traces)

        assert left() == len(traces)
        ledger.forget([PEOPLE[5]])
        server.execute("VACUUM FULL", database=place.rpartition("/")[2])
        server.execute("SELECT pg_switch_wal()", "CHECKPOINT", "SELECT pg_switch_wal()", "CHECKPOINT")
        assert left() == 0
        assert ledger.audit() == ()
        server.execute("UPDATE seepage_sums SET content = ''", database=place.rpartition("/")[2])
        with pytest.raises(seepage.errors.LedgerError, match="was changed"):
            ledger.balance(PEOPLE)
