"""Pickles, read by `pickletools` into stand-ins: nothing is imported, called or built."""

import io
import pickletools
from pickletools import markobject, opcodes
from types import SimpleNamespace
from typing import Any

import numpy as np

from seepage.inspection._budget import Budget
from seepage.inspection._values import NamedObject, Pairs, StrangeFileError, Thing, dtype_of, shaped

# Of memory, for a step: an object, its place in a list and in the memo.
_SIZE_OF_STEP = 32
_MOST_NESTED = 3
# After so many numbers of a kind the rest of the run is taken at once, except the last: a step may take three of them.
_RUN = 32
_LAST = 3
_RUNS = {"BINFLOAT": (b"G", ">f8"), "BININT": (b"J", "<i4"), "BININT1": (b"K", "u1"), "BININT2": (b"M", "<u2")}
_LONGEST_INTEGER = 512
_WRAPPER = "joblib.numpy_pickle.NumpyArrayWrapper"
_BYTES = ("_codecs.encode", "__builtin__.bytes", "builtins.bytes", "__builtin__.bytearray", "builtins.bytearray")
# The argument of these opcodes is a value by itself.
_VALUES = frozenset(
    opcode.name
    for opcode in opcodes
    if opcode.arg and not opcode.stack_before and opcode.name not in ("GLOBAL", "PERSID", "PROTO", "FRAME")
    if "GET" not in opcode.name and "PUT" not in opcode.name and "EXT" not in opcode.name
)


def read_pickle(data: memoryview, budget: Budget, start: int = 0, nested: int = 0) -> tuple[object, int, str]:
    """Return the stand-in of a pickle, its end, and the reason if it was not read to its end.

    Parameters
    ----------
    data : memoryview
    budget : Budget
    start : int, default=0
        The place of its first opcode.
    nested : int, default=0
        The number of pickles around it.
    """
    machine = _Machine(data, budget, start, nested)
    reason = ""
    try:
        machine.run()
    except StrangeFileError as error:
        reason = str(error)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError):
        reason = "it is cut off, or no pickle"
    stacks = [value for stack in (*machine.below, machine.stack) for value in stack]
    values = [*stacks, *machine.popped, *(machine.memo.values() if reason else ())]
    return values[0] if len(values) == 1 else values, machine.file.tell(), reason


class _File(io.RawIOBase):
    """Bytes as a file, without a copy of them; what is read in large parts is paid for."""

    def __init__(self, data: memoryview, budget: Budget, at: int) -> None:
        self.data, self.budget, self.at = data, budget, at

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self.at = offset if whence == 0 else self.at + offset
        return self.at

    def tell(self) -> int:
        return self.at

    def readinto(self, buffer: Any) -> int:
        part = self.data[self.at : self.at + len(buffer)]
        if len(part) > io.DEFAULT_BUFFER_SIZE:
            self.budget.pay(len(part))
        buffer[: len(part)] = part
        self.at += len(part)
        return len(part)


class _Machine:
    """The stack machine of pickles, whose every object is a stand-in."""

    def __init__(self, data: memoryview, budget: Budget, start: int, nested: int) -> None:
        if nested > _MOST_NESTED:
            raise StrangeFileError("pickles lie in pickles too deep")
        self.data, self.budget, self.nested = data, budget, nested
        self.file = io.BufferedReader(_File(data, budget, start))
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        # Functions store their closures and defaults in calls whose results are popped.
        self.popped: list[Any] = []

    def run(self) -> None:
        repeats, last = 0, ""
        source: Any = SimpleNamespace(read=self.file.read, readline=self.file.readline)
        value: Any
        for count, (opcode, value, _) in enumerate(pickletools.genops(source), 1):
            if count % 1024 == 0:
                self.budget.pay(1024 * _SIZE_OF_STEP)
            name = opcode.name
            if name in _VALUES:
                if isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
                    value = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
                self.stack.append(value)
                repeats = repeats + 1 if name == last else 0
                if repeats == _RUN and name in _RUNS:
                    self.take_run(*_RUNS[name])
                    repeats = 0
            elif name == "MEMOIZE":
                self.memo[len(self.memo)] = self.top()
            elif "PUT" in name:
                self.memo[value] = self.top()
            elif "GET" in name:
                self.stack.append(self.memo[value])
            else:
                self.step(opcode, value)
            last = name

    def take_run(self, code: bytes, form: str) -> None:
        """Push the numbers that follow in opcodes of the same kind as one array."""
        record, at = np.dtype([("code", "u1"), ("value", form)]), self.file.tell()
        view = np.frombuffer(self.data, record, min((len(self.data) - at) // record.itemsize, 1 << 16), at)
        others = np.flatnonzero(view["code"] != code[0])
        count = (int(others[0]) if len(others) else len(view)) - _LAST
        if count > _RUN:
            self.stack.append(view["value"][:count].astype(np.float64))
            self.file.seek(at + count * record.itemsize)

    def top(self) -> Any:
        if not self.stack:
            raise StrangeFileError("it takes what is not there")
        return self.stack[-1]

    def taken(self, opcode: Any) -> list[Any]:
        """Return what an opcode takes from the stack."""
        before = opcode.stack_before
        rest: list[Any] = []
        if markobject in before:
            if not self.below:
                raise StrangeFileError("it takes what is not there")
            rest, self.stack = self.stack, self.below.pop()
        count = before.index(markobject) if markobject in before else len(before)
        if len(self.stack) < count:
            raise StrangeFileError("it takes what is not there")
        values = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return values + rest

    def step(self, opcode: Any, value: Any) -> None:
        """Take what an opcode other than of a value or the memo takes, and push its result."""
        name = opcode.name
        if name == "MARK":
            self.below.append(self.stack)
            self.stack = []
            return
        if name == "POP" and not self.stack and self.below:
            self.stack = self.below.pop()
            return
        values = self.taken(opcode)
        if name in ("POP", "POP_MARK"):
            self.popped += values
        elif name == "DUP":
            self.stack += values * 2
        elif "TUPLE" in name:
            self.stack.append(tuple(values))
        elif name in ("LIST", "EMPTY_LIST", "EMPTY_SET", "FROZENSET"):
            self.stack.append(values)
        elif name in ("DICT", "EMPTY_DICT"):
            self.stack.append(Pairs(_paired(values)))
        elif name in ("APPEND", "APPENDS", "ADDITEMS"):
            self.stack.append(_extended(values[0], values[1:]))
        elif name in ("SETITEM", "SETITEMS"):
            self.stack.append(_extended(values[0], _paired(values[1:])))
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            self.stack.append(NamedObject(value.replace(" ", ".") if value else ".".join(map(str, values))))
        elif name == "INST":
            self.stack.append(Thing(value.replace(" ", "."), tuple(values)))
        elif name in ("REDUCE", "NEWOBJ", "OBJ", "NEWOBJ_EX"):
            given = values[1] if name in ("REDUCE", "NEWOBJ") else tuple(values[1:])
            self.stack.append(_made(values[0], given))
        elif name == "BUILD":
            self.build(*values)
        elif name in ("PERSID", "BINPERSID"):
            self.stack.append(Thing("persistent", value or values[0]))
        elif name in ("NONE", "NEWTRUE", "NEWFALSE"):
            self.stack.append({"NONE": None, "NEWTRUE": True, "NEWFALSE": False}[name])
        elif name == "NEXT_BUFFER" or "EXT" in name:
            self.stack.append(Thing("a buffer or class that the file lacks"))
        elif name in ("STOP", "READONLY_BUFFER"):
            self.stack += values

    def build(self, target: Any, state: Any) -> None:
        self.stack.append(target)
        if isinstance(target, Thing):
            target.items.append(target.state)
            target.state = state
            if target.kind == _WRAPPER and isinstance(state, Pairs):
                self.take_array(target, state)
        elif isinstance(target, list | Pairs):
            _extended(target, [state] if isinstance(target, list) else [("state", state)])

    def take_array(self, target: Thing, state: Pairs) -> None:
        """Take the bytes of an array that joblib writes between two opcodes."""
        dtype, at = dtype_of(state.get("dtype")), self.file.tell()
        if dtype.hasobject:
            inner, at, reason = read_pickle(self.data, self.budget, at, self.nested + 1)
            target.items.append(inner)
            if reason:
                raise StrangeFileError(reason)
        else:
            at += 0 if state.get("numpy_array_alignment_bytes") is None else 1 + self.data[at]
            fortran = state.get("order") == "F"
            target.array = shaped(self.data[at:], dtype, state.get("shape"), fortran=fortran)
            at += target.array.nbytes
        self.file.seek(at)


def _paired(values: list[Any]) -> list[tuple[object, object]]:
    return list(zip(values[::2], values[1::2], strict=True))


def _extended(target: object, values: list[Any]) -> object:
    if isinstance(target, list):
        target.extend(values)
    elif isinstance(target, Pairs):
        target.pairs.extend(values)
    elif isinstance(target, Thing):
        target.items.extend(values)
    else:
        raise StrangeFileError("it adds to what takes nothing")
    return target


def _made(what: object, given: Any) -> object:
    kind = what.kind if isinstance(what, NamedObject) else "something that is called"
    if kind.endswith("._reconstructor") and isinstance(given, tuple) and given:
        kind = getattr(given[0], "kind", kind)
    elif kind in _BYTES and isinstance(given, tuple):
        # Older protocols write bytes as text.
        content = given[0] if given else b""
        return content.encode("latin1", "replace") if isinstance(content, str) else content
    return Thing(kind, given if isinstance(what, NamedObject) else (what, given))
