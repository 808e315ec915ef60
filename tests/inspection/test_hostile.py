"""Files that mean harm: no code is run, nothing crashes, and each gets an answer."""

import bz2
import gzip
import io
import os
import pickle
import pickletools
import random
import struct
import sys
import tarfile
import time
import zipfile
import zlib

import numpy as np
import pytest
from inspected import PEOPLE

import seepage

CANARY = "a_canary_that_nobody_imports"


class _Runs:
    def __reduce__(self):
        return os.system, ("touch /tmp/seepage_was_here",)


class _Imports:
    def __reduce__(self):
        return eval, (f"__import__('{CANARY}')",)


def _programs():
    """Return pickles written by hand, opcode by opcode."""
    yield "reduce", pickle.dumps(_Runs())
    yield "eval", pickle.dumps(_Imports())
    yield "global", f"c{CANARY}\nboom\n(tR.".encode()
    yield "stack global", b"\x80\x04\x8c\x1c" + CANARY.encode() + b"\x8c\x04boom\x93)R."
    yield "instance", f"(S'x'\ni{CANARY}\nboom\n.".encode()
    yield "object", f"(c{CANARY}\nboom\no.".encode()
    yield "new object", f"\x80\x02c{CANARY}\nboom\n)\x81}}b.".encode("latin1")
    yield "persistent", f"P{CANARY}\n.".encode()
    for code in (b"\x82\x01", b"\x83\x01\x00", b"\x84\x01\0\0\0"):
        yield f"extension {len(code) - 1}", b"\x80\x02" + code + b"."
    yield "itself", b"\x80\x04]\x94h\x00a."
    yield "dictionary of itself", b"\x80\x04}\x94h\x00h\x00s."
    yield "deep lists", b"\x80\x04" + b"]" * 200_000 + b"a" * 199_999 + b"."
    yield "deep tuples", b"\x80\x04)" + b"\x85" * 200_000 + b"."
    yield "laughs", b"\x80\x04]\x94" + b"".join(b"](h%ch%ce\x94" % (i, i) for i in range(100)) + b"."
    yield "memo far away", b"\x80\x04]r\xff\xff\xff\xffj\xff\xff\xff\xff."
    yield "memo not there", b"\x80\x04h\x07."
    yield "pops nothing", b"\x80\x040."
    yield "marks", b"\x80\x04" + b"(" * 100_000 + b"."
    yield "no mark", b"\x80\x04t."
    yield "appends to a number", b"\x80\x04K\x01K\x02a."
    yield "sets in a number", b"\x80\x04K\x01K\x02K\x03s."
    yield "odd pairs", b"\x80\x04}(K\x01u."
    yield "long line", b"I" + b"9" * 3_000_000 + b"\n."
    yield "long number", b"\x80\x04\x8b" + struct.pack("<i", 2_000_000) + b"\x7f" * 2_000_000 + b"."
    yield "negative length", b"\x80\x04\x8b\xff\xff\xff\xff."
    yield "no float", b"Fnothing\n."
    yield "frame too long", b"\x80\x04\x95" + b"\xff" * 8 + b"N."
    for name, code in (("bytes", b"B"), ("text", b"X")):
        yield f"{name} too long", b"\x80\x04" + code + struct.pack("<I", 2**31) + b"x."
    for name, code in (("bytes8", b"\x8e"), ("text8", b"\x8d")):
        yield f"{name} too long", b"\x80\x04" + code + struct.pack("<Q", 2**62) + b"x."
    yield "bytearray too long", b"\x80\x05\x96" + struct.pack("<Q", 2**60) + b"."
    yield "buffer beside", b"\x80\x05\x97\x98."
    yield "many steps", b"\x80\x04" + b"N0" * 500_000 + b"N."
    yield "lying array", _lying((2**40, 2**30))
    yield "negative array", _lying((-1,))
    yield "array of strange type", _lying((3,), "q99999")
    yield "joblib that lies", _wrapped((10**9,))


def _lying(shape, code="f8"):
    array = pickle.dumps(np.arange(3.0), 2)
    assert b"f8" in array
    dims = b"(" + b"".join(b"\x8a\x08" + struct.pack("<q", each) for each in shape) + b"t"
    return array.replace(b"K\x03\x85", dims).replace(b"f8", code.encode()[:2])


def _wrapped(shape):
    import joblib

    file = io.BytesIO()
    joblib.dump(np.arange(3.0), file)
    return file.getvalue().replace(b"K\x03\x85", b"(" + b"".join(b"J" + struct.pack("<i", n) for n in shape) + b"t")


def _archives():
    """Return archives and other files that unpack to more than there is."""
    zeros = zlib.compress(bytes(50 << 20), 9)
    yield "zlib bomb.joblib", zlib.compress(zeros * 40, 9)
    yield "gzip bomb.gz", gzip.compress(bytes(260 << 20), 1)
    yield "bz2 bomb.bz2", bz2.compress(bytes(260 << 20), 1)
    many = gzip.compress(b"x" * 100)
    for _ in range(12):
        many = gzip.compress(many)
    yield "gzip in gzip.gz", many
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(9):
            archive.writestr(f"{i}.npy", bytes(30 << 20))
    yield "bomb.zip", bomb.getvalue()
    inner = bomb.getvalue()[:1000]
    for i in range(8):
        outer = io.BytesIO()
        with zipfile.ZipFile(outer, "w") as archive:
            archive.writestr(f"{i}.zip", inner)
        inner = outer.getvalue()
    yield "zip in zip.zip", inner
    lots = io.BytesIO()
    with zipfile.ZipFile(lots, "w") as archive:
        for i in range(11_000):
            archive.writestr(str(i), b"")
    yield "many files.zip", lots.getvalue()
    lies = bytearray(bomb.getvalue())
    place = lies.rfind(b"PK\x01\x02")
    lies[place + 24 : place + 28] = b"\xff\xff\xff\xff"
    yield "lying sizes.zip", bytes(lies)
    links = io.BytesIO()
    with tarfile.open(fileobj=links, mode="w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            info = tarfile.TarInfo("../../etc/passwd")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    yield "links.tar", links.getvalue()
    start = b"\x93NUMPY\x01\x00v\x00"
    huge = b"{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999,), }"
    yield "huge.npy", start + huge.ljust(117) + b"\n"
    yield "code.npy", start + b"{'descr': __import__('os').system('id'), 'shape': (1,), }".ljust(117) + b"\n"
    yield "objects.npy", _objects()
    yield "huge.safetensors", struct.pack("<Q", 2**60) + b"{}"
    head = b'{"a":{"dtype":"F64","shape":[1000000000],"data_offsets":[0,8]}}'
    yield "lying.safetensors", struct.pack("<Q", len(head)) + head + bytes(8)
    yield "deep.json", b"[" * 200_000 + b"]" * 200_000
    yield "deep.ipynb", b'{"cells":' * 100_000
    yield "damaged.parquet", b"PAR1" + b"\xff" * 200 + b"PAR1"
    yield "damaged.dta", b"<stata_dta><header><release>118</release>" + b"\xff" * 100
    yield "deep.rds", b"X\n" + struct.pack(">iii", 2, 0, 0) + struct.pack(">ii", 19, 1) * 10_000
    yield "huge.rds", b"X\n" + struct.pack(">iiiii", 2, 0, 0, 14, 2**31 - 1)
    yield "wide.rds", b"X\n" + struct.pack(">iiiii", 2, 0, 0, 19, 2**31 - 1) + struct.pack(">i", 254) * 1000
    yield "expression.txt", b"(" * 100_000 + b"1" * 100_000
    yield "backtracking.txt", b"1" * 200_000 + b"e" * 10 + b"<" * 200_000 + b"<tr"
    yield "numbers.csv", b"a,b,c\n" + b"1e999,-1e999,nan\n" * 50
    yield "empty.pkl", b""
    yield "one byte.pkl", b"\x80"
    yield "nothing.zip", b"PK\x05\x06" + bytes(18)


def _objects():
    file = io.BytesIO()
    np.save(file, np.array([_Runs()], dtype=object), allow_pickle=True)
    return file.getvalue()


def _opcodes():
    """Return every opcode by itself, and with bytes after it that it does not expect."""
    for each in pickletools.opcodes:
        yield f"opcode {each.name}", b"\x80\x05" + each.code.encode("latin1") + b"."
        yield f"opcode {each.name} and more", b"\x80\x04(]K\x01" + each.code.encode("latin1") + b"\x03\x01\n\x02ab\n."


def _damaged():
    """Return files that were cut off, or in which bytes were changed."""
    rng = random.Random(5)
    whole = pickle.dumps({"rows": PEOPLE["marker"].tolist(), "frame": PEOPLE.head(30)})
    for i in range(30):
        yield f"cut {i}", whole[: rng.randrange(3, len(whole))]
        changed = bytearray(whole)
        for _ in range(5):
            changed[rng.randrange(2, len(changed))] = rng.randrange(256)
        yield f"changed {i}", bytes(changed)


@pytest.fixture(scope="module")
def files():
    return dict([*((f"{name}.pkl", data) for name, data in (*_programs(), *_opcodes(), *_damaged())), *_archives()])


@pytest.fixture(scope="module")
def finder():
    from seepage.inspection._inspect import Finder
    from seepage.inspection._people import PeopleColumns

    return Finder(PeopleColumns.of(PEOPLE, "id"))


@pytest.fixture
def watched(monkeypatch):
    """Fail whenever something is run or imported because a file names it."""
    happened = []

    def heard(event, arguments):
        if watching and (event in ("os.system", "subprocess.Popen", "exec", "os.exec", "os.posix_spawn")):
            happened.append((event, arguments))
        if watching and event == "import" and arguments[0] == CANARY:
            happened.append((event, arguments))

    watching = True
    sys.addaudithook(heard)
    yield happened
    watching = False


def test_no_code_is_run_and_each_gets_an_answer(finder, files, watched, tmp_path):
    finder.inspected_bytes(pickle.dumps({"warm": PEOPLE}), "warm.pkl")
    watched.clear()
    for name, data in files.items():
        start = time.process_time()
        found = finder.inspected_bytes(data, name)
        assert found.verdict in ("pass", "review", "fail"), name
        assert time.process_time() - start < 10, name
        ran = [each for each in watched if each[0] != "exec" or CANARY in str(each[1])]
        assert not ran, name
    assert not os.path.exists("/tmp/seepage_was_here")
    assert CANARY not in sys.modules


def test_what_was_not_read_is_named(finder, files):
    large = [name for name in files if "bomb" in name or "lying" in name or "huge" in name]
    assert len(large) >= 6
    for name in large:
        found = finder.inspected_bytes(files[name], name)
        assert "unread" in {each.kind for each in found.findings}, name
        assert found.verdict == "review", name


def test_what_was_read_before_the_damage_counts(finder):
    whole = pickle.dumps({"rows": PEOPLE["marker"].tolist(), "rest": "x" * 1000})
    assert finder.inspected_bytes(whole[:-200], "cut.pkl").verdict == "fail"


def test_a_file_that_runs_code_is_still_looked_into(tmp_path):
    (tmp_path / "both.pkl").write_bytes(pickle.dumps([_Runs(), PEOPLE["marker"].to_numpy()]))
    assert seepage.inspect(tmp_path / "both.pkl", PEOPLE).verdict == "fail"
