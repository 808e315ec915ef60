"""Downloading, against a server on this machine."""

import gzip
import hashlib
import http.server
import threading
from dataclasses import replace
from typing import ClassVar

import pytest

import seepage
from seepage.datasets import _catalog, get_data_home
from seepage.datasets.__main__ import main
from seepage.datasets._fetch import VARIABLE, Download, contents, fetch

WHOLE = b"age,dose\n63,1.5\n" * 5000


class _Shelf(http.server.BaseHTTPRequestHandler):
    files: ClassVar[dict[str, bytes]] = {}
    requests: ClassVar[list[str]] = []
    starts: ClassVar[list[int]] = []

    def do_GET(self):
        name = self.path.strip("/")
        self.requests.append(name)
        if name.removeprefix("half-") not in self.files:
            self.send_error(404)
            return
        body = self.files[name.removeprefix("half-")]
        asked = self.headers.get("Range")
        if asked and not name.startswith("deaf-"):
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            self.starts.append(start)
            if start >= len(body):
                self.send_error(416)
                return
            body = body[start:]
            self.send_response(206)
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if name.startswith("half-") else body)

    def log_message(self, *_):
        pass


@pytest.fixture
def shelf(monkeypatch):
    """An HTTP server with one good file; names that start with `half-` break off in the middle."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv(VARIABLE, raising=False)
    _Shelf.files = {"dose.csv": WHOLE, "dose.csv.gz": gzip.compress(WHOLE), "deaf-dose.csv": WHOLE}
    _Shelf.requests, _Shelf.starts = [], []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Shelf)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def _source(shelf, *names, **changes):
    digest = hashlib.sha256(WHOLE).hexdigest()
    return replace(Download("dose.csv", tuple(f"{shelf}/{name}" for name in names), digest), **changes)


def test_a_file_is_downloaded_once_and_then_read_from_the_folder(shelf, tmp_path):
    source = _source(shelf, "dose.csv")
    assert contents(source, tmp_path, True) == WHOLE
    assert contents(source, tmp_path, True) == WHOLE
    assert contents(source, tmp_path, False) == WHOLE
    assert _Shelf.requests == ["dose.csv"]
    assert [path.name for path in tmp_path.iterdir()] == ["dose.csv"]


def test_a_wrong_checksum_is_refused_and_the_file_removed(shelf, tmp_path):
    source = _source(shelf, "dose.csv", sha256="0" * 64)
    with pytest.raises(seepage.errors.DatasetError, match=r"checksum is [0-9a-f]{64}, not 0{64}; it was not kept"):
        fetch(source, tmp_path, True)
    assert list(tmp_path.iterdir()) == []


def test_half_a_download_is_never_read_as_whole(shelf, tmp_path):
    with pytest.raises(seepage.errors.DatasetError, match=f"only {len(WHOLE) // 2} of {len(WHOLE)} bytes arrived"):
        fetch(_source(shelf, "half-dose.csv"), tmp_path, True)
    packed = _source(shelf, "half-dose.csv.gz", name="dose.csv.gz", compressed=True)
    with pytest.raises(seepage.errors.DatasetError, match="bytes arrived"):
        fetch(packed, tmp_path, True)
    assert list(tmp_path.iterdir()) == []


def test_the_next_address_is_tried_when_one_fails(shelf, tmp_path):
    source = _source(shelf, "gone.csv", "half-dose.csv", "dose.csv")
    assert contents(source, tmp_path, True) == WHOLE
    assert _Shelf.requests == ["gone.csv", "half-dose.csv", "dose.csv"]


def test_no_address_that_answers_is_an_error_that_lists_them(shelf, tmp_path):
    with pytest.raises(seepage.errors.DatasetError, match="HTTP Error 404"):
        fetch(_source(shelf, "gone.csv"), tmp_path, True)
    with pytest.raises(seepage.errors.DatasetError, match="could not be downloaded"):
        fetch(_source("http://127.0.0.1:9", "dose.csv"), tmp_path, True)


def test_the_checksum_of_a_compressed_file_is_that_of_its_contents(shelf, tmp_path):
    source = _source(shelf, "dose.csv.gz", name="dose.csv.gz", compressed=True)
    assert contents(source, tmp_path, True) == WHOLE


def test_a_conversion_that_fails_leaves_nothing_behind(shelf, tmp_path):
    def broken(received, path):
        path.write_bytes(received.read_bytes()[:10])
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk is full"):
        fetch(_source(shelf, "dose.csv", convert=broken), tmp_path, True)
    assert list(tmp_path.iterdir()) == []


def test_without_download_the_error_names_the_file_the_folder_and_the_variable(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "offline"))
    monkeypatch.setenv("HOME", str(tmp_path))
    source = _source("https://example.org", "dose.csv")
    with pytest.raises(seepage.errors.DatasetError) as caught:
        fetch(source, None, False)
    for word in ("dose.csv", str(tmp_path / "offline"), str(tmp_path / "seepage_data"), VARIABLE, "download=True"):
        assert word in str(caught.value)
    with pytest.raises(seepage.errors.DatasetError, match=str(tmp_path / "mine")):
        fetch(source, tmp_path / "mine", False)


def test_a_file_without_an_address_says_how_to_get_it(tmp_path):
    with pytest.raises(seepage.errors.DatasetError, match="ml-privacy-csf18"):
        seepage.datasets.load_iwpc(data_home=tmp_path)


def test_the_offline_folder_is_read_first_and_never_written(shelf, tmp_path, monkeypatch):
    offline, home = tmp_path / "offline", tmp_path / "home"
    offline.mkdir()
    monkeypatch.setenv(VARIABLE, str(offline))
    monkeypatch.setenv("HOME", str(home))
    source = _source(shelf, "dose.csv")
    assert fetch(source, None, True) == get_data_home() / "dose.csv" == home / "seepage_data" / "dose.csv"
    assert list(offline.iterdir()) == []
    (offline / "dose.csv").write_bytes(WHOLE)
    assert fetch(source, None, True) == offline / "dose.csv"


def test_a_file_that_was_changed_is_refused(tmp_path):
    source = _source("https://example.org", "dose.csv")
    (tmp_path / "dose.csv").write_bytes(WHOLE[:-1])
    with pytest.raises(seepage.errors.DatasetError, match="not the published file"):
        contents(source, tmp_path, False)
    packed = replace(source, name="dose.csv.gz", compressed=True)
    (tmp_path / "dose.csv.gz").write_bytes(gzip.compress(WHOLE)[:-20])
    with pytest.raises(seepage.errors.DatasetError, match="is damaged"):
        contents(packed, tmp_path, False)


def test_adult_comes_from_its_public_home_and_is_kept_compressed(shelf, data_home, tmp_path, monkeypatch):
    from seepage.datasets import _adult

    _Shelf.files["adult.data"] = gzip.decompress((data_home / "adult.data.gz").read_bytes())
    source = replace(_adult.SOURCES["train"], urls=(f"{shelf}/adult.data",))
    monkeypatch.setitem(_adult.SOURCES, "train", source)
    downloaded = seepage.datasets.load_adult(data_home=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["adult.data.gz"]
    assert downloaded.data.equals(seepage.datasets.load_adult(data_home=data_home).data)


def test_mnist_comes_from_a_mirror(shelf, data_home, tmp_path, monkeypatch):
    from seepage.datasets import _mnist

    for name in ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
        _Shelf.files[f"{name}.gz"] = (data_home / f"mnist/{name}.gz").read_bytes()
        source = replace(_mnist.SOURCES[name], urls=(f"{shelf}/gone", f"{shelf}/{name}.gz"))
        monkeypatch.setitem(_mnist.SOURCES, name, source)
    assert seepage.datasets.load_mnist(data_home=tmp_path, subset="test").data.shape == (10_000, 784)
    assert sorted(path.name for path in (tmp_path / "mnist").iterdir()) == sorted(
        ["t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"]
    )


def test_cifar_is_cut_out_of_the_official_archive(shelf, data_home, tmp_path, monkeypatch):
    import io
    import tarfile

    import numpy as np

    from seepage.datasets import _cifar

    # The official layout, with the two classes at their official places and another class everywhere else.
    records = {"train": np.full((50_000, 3073), 9, np.uint8), "test": np.full((10_000, 3073), 9, np.uint8)}
    with np.load(data_home / "cifar10_airplane_automobile.npz") as stored:
        kept = {name: stored[name] for name in stored}
    for part, rows in records.items():
        rows[kept[f"idx_{part}"], 0] = kept[f"y_{part}"]
        rows[kept[f"idx_{part}"], 1:] = kept[f"x_{part}"].transpose(0, 3, 1, 2).reshape(-1, 3072)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as opened:
        batches = [(f"data_batch_{i + 1}.bin", records["train"][10_000 * i : 10_000 * (i + 1)]) for i in range(5)]
        for name, rows in [*batches, ("test_batch.bin", records["test"])]:
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            member.size = rows.nbytes
            opened.addfile(member, io.BytesIO(rows.tobytes()))
    _Shelf.files["cifar.tar"] = archive.getvalue()
    digest = hashlib.sha256(archive.getvalue()).hexdigest()
    monkeypatch.setattr(_cifar, "SOURCE", replace(_cifar.SOURCE, urls=(f"{shelf}/cifar.tar",), sha256=digest))
    assert seepage.datasets.load_cifar10(data_home=tmp_path).data.shape == (10_000, 3072)
    with np.load(tmp_path / "cifar10_airplane_automobile.npz") as made:
        assert sorted(made) == sorted(kept)
        for name, array in kept.items():
            np.testing.assert_array_equal(made[name], array)
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr(_cifar, "WHOLE", replace(_cifar.WHOLE, urls=(f"{shelf}/cifar.tar",), sha256=digest))
    whole = seepage.datasets.load_cifar10(data_home=tmp_path, classes=10)
    assert whole.data.shape == (50_000, 3072)
    assert whole.target_names[9] == "truck"
    np.testing.assert_array_equal(np.bincount(whole.target), [5_000, 5_000, *[0] * 7, 40_000])
    np.testing.assert_array_equal(whole.images[kept["idx_train"]], kept["x_train"])


def test_a_download_goes_on_where_it_stopped(shelf, tmp_path):
    half, part = len(WHOLE) // 2, tmp_path / ".dose.csv.part"
    with pytest.raises(seepage.errors.DatasetError, match="bytes arrived"):
        fetch(_source(shelf, "half-dose.csv"), tmp_path, True, resume=True)
    assert part.read_bytes() == WHOLE[:half]
    assert fetch(_source(shelf, "dose.csv"), tmp_path, True, resume=True).read_bytes() == WHOLE
    assert _Shelf.starts == [half]
    assert [path.name for path in tmp_path.iterdir()] == ["dose.csv"]


@pytest.mark.parametrize("before", [b"of something else" * 100, WHOLE + b"and more", WHOLE])
@pytest.mark.parametrize("name", ["dose.csv", "deaf-dose.csv"])
def test_what_a_download_went_on_from_is_not_trusted(shelf, tmp_path, before, name):
    (tmp_path / ".dose.csv.part").write_bytes(before)
    assert fetch(_source(shelf, name), tmp_path, True, resume=True).read_bytes() == WHOLE
    assert [path.name for path in tmp_path.iterdir()] == ["dose.csv"]


def test_one_command_fetches_everything_that_is_missing(shelf, tmp_path, monkeypatch, capsys):
    rare = Download("rare.csv", (), "0" * 64, otherwise="Ask its owners.")
    monkeypatch.setattr(_catalog, "FILES", (_source(shelf, "dose.csv"), rare))
    assert _catalog.missing(tmp_path) == ["dose.csv", "rare.csv"]
    assert main([str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "fetched  dose.csv"
    assert lines[1].startswith("MISSING  rare.csv: There is no rare.csv")
    assert "Ask its owners." in lines[1]
    (tmp_path / "rare.csv").touch()
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "here     dose.csv"
    assert _Shelf.requests == ["dose.csv"]


def test_the_catalog_lists_every_file():
    sources = [
        value
        for module in (_catalog._adult, _catalog._cifar, _catalog._iwpc, _catalog._lfw, _catalog._mnist)
        for value in vars(module).values()
        if isinstance(value, Download)
    ]
    # Two are for those who ask for them.
    assert set(sources) - set(_catalog.FILES) == {_catalog._cifar.WHOLE, _catalog._lfw.ATTRIBUTES}
    assert len({source.name for source in _catalog.FILES}) == len(_catalog.FILES) == 10
