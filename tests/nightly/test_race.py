"""Two thousand posts by eight processes with twenty kills: spent exactly, and audits are silent."""

import pytest
from ledger.server import postgres
from racing import raced


def test_a_race_on_sqlite(tmp_path):
    assert raced(tmp_path / "ledger.db", room=2000, processes=8, kills=20) >= 5


@pytest.mark.postgresql
def test_a_race_on_postgresql_whose_server_is_killed_and_restarted():
    with postgres() as server:
        place = server.place()
        assert raced(place, room=2000, processes=8, kills=20, restart=server.restart_after_a_kill) >= 5
