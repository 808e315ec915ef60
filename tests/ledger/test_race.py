"""Processes that publish at once, of which some are killed: no budget is overspent, and audits meanwhile are silent."""

from racing import raced


def test_a_small_race_on_sqlite(tmp_path):
    assert raced(tmp_path / "ledger.db", room=40, processes=2, kills=2) >= 1
