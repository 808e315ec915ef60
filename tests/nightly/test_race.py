"""Two thousand posts by eight processes of which twenty are killed: spent exactly, and audits are silent."""

from engines.store import BUCKET, store_apart
from racing import raced


def test_a_race_in_a_folder(tmp_path):
    assert raced(tmp_path / "ledger", room=2000, processes=8, kills=20) > 20


def test_a_race_in_an_object_store(monkeypatch):
    for name, value in (("ACCESS_KEY_ID", "a"), ("SECRET_ACCESS_KEY", "b"), ("EC2_METADATA_DISABLED", "true")):
        monkeypatch.setenv(f"AWS_{name}", value)
    with store_apart() as address:
        place = f"s3://{BUCKET}/raced?endpoint_override={address}&scheme=http&region=us-east-1"
        # Audits over a network that Python serves take minutes at the end.
        assert raced(place, room=2000, processes=8, kills=20) > 5
