"""Files that mean harm: pickles that run code, archives that unpack to gigabytes, files that refer to themselves."""

import bz2
import gzip
import io
import json
import os
import pickle
import pickletools
import random
import sqlite3
import struct
import tarfile
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from inspected import PEOPLE

CANARY = "a_canary_that_nobody_imports"
_CALLS = [
    ("nt", "system"),
    ("posix", "system"),
    ("subprocess", "getoutput"),
    ("builtins", "exec"),
    ("builtins", "compile"),
    ("builtins", "__import__"),
    ("importlib", "import_module"),
    ("runpy", "run_module"),
    ("pydoc", "pipepager"),
    ("timeit", "timeit"),
    ("operator", "attrgetter"),
    ("functools", "partial"),
    ("webbrowser", "open"),
    ("numpy.testing._private.utils", "runstring"),
    ("torch.utils.collect_env", "run"),
    ("idlelib.pyshell", "ModifiedInterpreter.runcode"),
    ("ctypes", "CDLL"),
    ("code", "InteractiveInterpreter.runcode"),
]


def _short(content):
    return b"C" + bytes([len(content)]) + content


class Runs:
    def __reduce__(self):
        return os.system, ("touch /tmp/seepage_was_here",)


class Imports:
    def __reduce__(self):
        return eval, (f"__import__('{CANARY}')",)


def programs():
    """Return pickles written by hand, opcode by opcode."""
    yield "reduce", pickle.dumps(Runs())
    yield "eval", pickle.dumps(Imports())
    yield "global", f"c{CANARY}\nboom\n(tR.".encode()
    yield "stack global", b"\x80\x04\x8c\x1c" + CANARY.encode() + b"\x8c\x04boom\x93)R."
    yield "instance", f"(S'x'\ni{CANARY}\nboom\n.".encode()
    yield "object", f"(c{CANARY}\nboom\no.".encode()
    yield "new object", f"\x80\x02c{CANARY}\nboom\n)\x81}}b.".encode("latin1")
    yield "persistent", f"P{CANARY}\n.".encode()
    for code in (b"\x82\x01", b"\x83\x01\x00", b"\x84\x01\0\0\0"):
        yield f"extension {len(code) - 1}", b"\x80\x02" + code + b"."
    for module, name in _CALLS:
        yield f"{module}.{name}", f"c{module}\n{name}\n(S'{CANARY}'\ntR.".encode()
    yield "assembled name", b"\x80\x04\x8c\x02os\x94h\x00\x8c\x06system\x93\x8c\x04true\x85R."
    yield "pickle in a pickle", b"\x80\x04\x8c\x06pickle\x8c\x05loads\x93" + _short(pickle.dumps(Runs())) + b"\x85R."
    yield "protocol twice", b"\x80\x04\x80\x02" + pickle.dumps(Runs())[2:]
    yield "state that is set", b"\x80\x02cbuiltins\nsetattr\n}b."
    yield "two pickles", pickle.dumps([1.0]) + pickle.dumps(Runs())
    yield "registered extension", b"ccopyreg\nadd_extension\n(S'os'\nS'system'\nK\x01tR\x82\x01."
    yield "text that is not unicode", b"\x80\x04X\x04\0\0\0\xff\xfe\xfd\xfc."
    yield "bytes and no text", b"U\x03\xff\xfe\xfd."
    yield "octal", b"I0777777777777777777777777\n."
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


def archives():
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
    np.save(file, np.array([Runs()], dtype=object), allow_pickle=True)
    return file.getvalue()


def opcodes():
    """Return every opcode by itself, and with bytes after it that it does not expect."""
    for each in pickletools.opcodes:
        yield f"opcode {each.name}", b"\x80\x05" + each.code.encode("latin1") + b"."
        yield f"opcode {each.name} and more", b"\x80\x04(]K\x01" + each.code.encode("latin1") + b"\x03\x01\n\x02ab\n."


def damaged():
    """Return files that were cut off, or in which bytes were changed."""
    rng = random.Random(5)
    whole = pickle.dumps({"rows": PEOPLE["marker"].tolist(), "frame": PEOPLE.head(30)})
    for i in range(30):
        yield f"cut {i}", whole[: rng.randrange(3, len(whole))]
        changed = bytearray(whole)
        for _ in range(5):
            changed[rng.randrange(2, len(changed))] = rng.randrange(256)
        yield f"changed {i}", bytes(changed)


def _written(write, *arguments, **options):
    file = io.BytesIO()
    write(*arguments, file, **options)
    return file.getvalue()


def _batches(open_writer, batch, count):
    file = io.BytesIO()
    with open_writer(file, batch.schema) as writer:
        for _ in range(count):
            writer.write_batch(batch)
    return file.getvalue()


def _shared_members():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("0", bytes(8 << 20))
        archive.filelist *= 3000
    return file.getvalue()


def _table(k):
    return b"\x80\x02]q\x00(" + b"G\x3f\xf0\0\0\0\0\0\0" * k + b"e0](" + b"h\x00" * k + b"e."


def _long_text(kind):
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(30_000, np.int32)), pa.array(["x" * 50_000], kind))


def _in_lists(array):
    return pa.ListArray.from_arrays(pa.array(np.arange(len(array) + 1), pa.int32()), array)


def bombs():
    """Return small files that would take gigabytes or hours, by name."""
    zstd = pa.ipc.IpcWriteOptions(compression="zstd")
    zeros = pa.record_batch({"a": np.zeros(10_000_000)})
    long_list = pa.ListArray.from_arrays(pa.array([0, 100_000_000], pa.int32()), pa.nulls(100_000_000))
    _, view, text = pa.array(["x" * 50_000], pa.string_view()).buffers()
    many = [None, pa.py_buffer(view.to_pybytes()[:16] * 30_000), text]
    views = pa.record_batch({"a": pa.Array.from_buffers(pa.string_view(), 30_000, many)})
    head = json.dumps(
        {f"a{i}": {"dtype": "F64", "shape": [8], "data_offsets": [0, 64]} for i in range(20_000)}
    ).encode()
    return {
        "table.pkl": _table(10_000),
        "itself.pkl": b"\x80\x02]q\x00(" + b"h\x00" * 100_000 + b"e.",
        "tuples.pkl": b"\x80\x02)" + b"\x85" * 50_000 + b".",
        "pickles.pkl": pickle.dumps(1.5) * 20_000,
        "text.parquet": _written(pq.write_table, pa.table({"a": _long_text(pa.string())})),
        "bytes.parquet": _written(pq.write_table, pa.table({"a": _long_text(pa.binary())})),
        "lists.parquet": _written(pq.write_table, pa.table({"a": _in_lists(_long_text(pa.string()))})),
        "zeros.parquet": _batches(lambda file, schema: pq.ParquetWriter(file, schema, compression="zstd"), zeros, 5),
        "zeros.feather": _batches(lambda file, schema: pa.ipc.new_file(file, schema, options=zstd), zeros, 10),
        "text.feather": _batches(pa.ipc.new_file, pa.record_batch({"a": _long_text(pa.string())}), 1),
        "views.feather": _batches(pa.ipc.new_file, views, 1),
        "nulls.feather": _batches(pa.ipc.new_file, pa.record_batch({"a": long_list}), 1),
        "streams.gz": gzip.compress(b"") * 50_000,
        "members.zip": _shared_members(),
        "many.safetensors": struct.pack("<Q", len(head)) + head + bytes(64),
        "loop.sqlite": _looping(),
        "huge.h5": _huge(),
        **dict(archives()),
    }


def _looping():
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE rows (a, b AS (hex(zeroblob(100000000))))")
        base.executemany("INSERT INTO rows VALUES (?)", [(i,) for i in range(50)])
        base.execute(
            "CREATE VIEW forever AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
        )
        return base.serialize()


def _huge():
    import h5py

    file = io.BytesIO()
    with h5py.File(file, "w") as store:
        store.create_dataset("a", shape=(10**12,), dtype="f8", chunks=(1000,), compression="gzip")
        store.create_dataset("b", data=["x" * 50_000] * 100)
        store["c"] = h5py.ExternalLink("/etc/passwd", "/")
    return file.getvalue()
