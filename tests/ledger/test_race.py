"""Several publish at once, and some are killed: nobody's budget is overspent, and audits beside them are silent."""

from racing import raced


def test_a_small_race_in_a_folder(tmp_path):
    assert raced(tmp_path / "ledger", room=40, processes=2, kills=2) > 1
