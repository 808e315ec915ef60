"""Files are whole or not there."""

import os
import stat

import pytest

import seepage
from seepage._writing import write_file


def _mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_what_was_there_stays_until_the_new_file_is_whole(tmp_path):
    path = tmp_path / "owner.key"
    path.write_bytes(b"the old key")

    def fails(file):
        file.write(b"half of the new")
        file.flush()
        assert path.read_bytes() == b"the old key"
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        write_file(path, fails, private=True)
    assert path.read_bytes() == b"the old key"
    assert list(tmp_path.iterdir()) == [path]
    write_file(path, b"the new key", private=True)
    assert path.read_bytes() == b"the new key"
    assert list(tmp_path.iterdir()) == [path]


def test_a_private_file_is_never_open_to_others(tmp_path):
    path, seen = tmp_path / "page.html", []
    path.write_text("open to all")
    path.chmod(0o644)

    def write(file):
        seen.extend(_mode(each) for each in tmp_path.iterdir() if each != path)
        file.write(b"personal")

    write_file(path, write, private=True)
    assert seen == [0o600]
    assert _mode(path) == 0o600


def test_other_files_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "certificate.json", "öffentlich")
    finally:
        os.umask(before)
    assert _mode(tmp_path / "certificate.json") == 0o640
    assert (tmp_path / "certificate.json").read_bytes() == "öffentlich".encode()


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "file")
    write_file(tmp_path / "link", b"1")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "file").read_bytes() == b"1"


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_file(tmp_path / "pipe", "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_folders_are_named(tmp_path):
    with pytest.raises(seepage.errors.InputError, match=r"no folder '.*missing' to write 'page.html' into"):
        write_file(tmp_path / "missing" / "page.html", "")
    with pytest.raises(seepage.errors.InputError, match="is a folder: name a file in it"):
        write_file(tmp_path, "")
