"""Pickles, read by their opcodes into stand-ins: nothing is imported, called or built."""

import itertools
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from seepage.inspection._bounded import Budget
from seepage.inspection._standins import NamedObject, Pairs, StrangeFileError, Thing, dtype_of, shaped

_SIZE_OF_STEP = 32
_MOST_NESTED = 3
_LINE = 256
# A run of numbers is taken at once; the last ones by themselves, as what follows may take one, two or three.
_RUN = 32
_WRAPPER = "joblib.numpy_pickle.NumpyArrayWrapper"
_BYTES = ("_codecs.encode", "__builtin__.bytes", "builtins.bytes", "__builtin__.bytearray", "builtins.bytearray")
_TYPES = {"<i": "<i4", "B": "u1", "<H": "<u2", ">d": ">f8"}
_MARK = object()

_Step = Callable[["_Machine"], None]


def read_pickle(data: memoryview, budget: Budget, start: int = 0, nested: int = 0) -> tuple[object, int, str]:
    """Return what a pickle holds, where it ends, and why it was not read to its end (or nothing).

    Parameters
    ----------
    data : memoryview
    budget : Budget
    start : int, default=0
        Where it begins.
    nested : int, default=0
        How many pickles it lies in.
    """
    machine = _Machine(data, budget, start, nested)
    try:
        machine.run()
    except (StrangeFileError, ValueError, IndexError, struct.error, OverflowError, KeyError, MemoryError) as reason:
        why = str(reason) if isinstance(reason, StrangeFileError) else "it is cut off, or no pickle"
        left = [each for each in (*machine.stack, *machine.memo.values(), *machine.popped) if each is not _MARK]
        return left, machine.at, why
    made = [*machine.stack, *machine.popped]
    return made[0] if len(made) == 1 else made, machine.at, ""


class _Machine:
    """The stack machine of pickles, whose every object is a stand-in."""

    def __init__(self, data: memoryview, budget: Budget, start: int, nested: int) -> None:
        if nested > _MOST_NESTED:
            raise StrangeFileError("pickles lie in pickles too deep")
        self.data, self.budget, self.at, self.nested = data, budget, start, nested
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        # Functions keep their closures and defaults in calls whose results are popped.
        self.popped: list[Any] = []

    def run(self) -> None:
        data, steps = self.data, _STEPS
        for count in itertools.count():
            if count % 1024 == 1023:
                self.budget.pay(1024 * _SIZE_OF_STEP)
            code = data[self.at]
            self.at += 1
            if code == 0x2E:
                return
            step = steps.get(code)
            if step is None:
                raise StrangeFileError("it is no pickle")
            step(self)

    def take(self, count: int) -> memoryview:
        if count < 0 or self.at + count > len(self.data):
            raise StrangeFileError("it is cut off")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, form: str) -> Any:
        (found,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return found

    def line(self, code: str = "utf-8") -> str:
        size = _LINE
        while (end := bytes(self.data[self.at : self.at + size]).find(b"\n")) < 0:
            if self.at + size >= len(self.data):
                raise StrangeFileError("it is cut off")
            size *= 16
        return str(self.take(end + 1)[:end], code, "replace")

    def text(self, count: int) -> str:
        return str(self.take(count), "utf-8", "replace")

    def push(self, value: object) -> None:
        self.stack.append(value)

    def marked(self) -> list[Any]:
        place = self.marks.pop()
        found = self.stack[place + 1 :]
        del self.stack[place:]
        return found

    def pop(self, count: int) -> list[Any]:
        if len(self.stack) < count or (self.marks and len(self.stack) - count <= self.marks[-1]):
            raise StrangeFileError("it takes what is not there")
        found = self.stack[-count:]
        del self.stack[-count:]
        return found

    def top(self) -> Any:
        if not self.stack or self.stack[-1] is _MARK:
            raise StrangeFileError("it takes what is not there")
        return self.stack[-1]


def _pop(machine: _Machine) -> None:
    if machine.stack and machine.stack[-1] is _MARK:
        machine.popped += machine.marked()
    else:
        machine.popped += machine.pop(1)


def _pop_mark(machine: _Machine) -> None:
    machine.popped += machine.marked()


def _skip(count: int) -> _Step:
    def step(machine: _Machine) -> None:
        machine.take(count)

    return step


def _mark(machine: _Machine) -> None:
    machine.marks.append(len(machine.stack))
    machine.push(_MARK)


def _plain(code: str, form: str) -> _Step:
    """Return the step that pushes a number, or the run of such numbers that it begins as one array."""
    layout, opcode = struct.Struct(form), ord(code)
    size = layout.size
    record = np.dtype({"names": ["x"], "formats": [_TYPES[form]], "itemsize": size + 1})

    def step(machine: _Machine) -> None:
        data, at = machine.data, machine.at
        last = at + (size + 1) * _RUN - 1
        if last + size < len(data) and data[at + size] == opcode and data[last] == opcode:
            count = min((len(data) - at - size) // (size + 1), 1 << 16)
            codes = np.frombuffer(data, np.uint8, (size + 1) * count, at)[size :: size + 1]
            others = np.flatnonzero(codes != opcode)
            count = (int(others[0]) if len(others) else count) - 3
            if count >= _RUN - 4:
                machine.push(np.frombuffer(data, record, count, at)["x"].astype(np.float64))
                machine.at += (size + 1) * count
        machine.push(layout.unpack_from(data, machine.at)[0])
        machine.at += size

    return step


def _fixed(value: Callable[[], object]) -> _Step:
    return lambda machine: machine.push(value())


def _textual(form: str) -> _Step:
    return lambda machine: machine.push(machine.text(machine.number(form)))


def _binary(form: str) -> _Step:
    return lambda machine: machine.push(machine.take(machine.number(form)))


def _long(form: str) -> _Step:
    def step(machine: _Machine) -> None:
        count = machine.number(form)
        digits = machine.take(count)
        machine.push(int.from_bytes(digits, "little", signed=True) if count <= 64 else digits)

    return step


def _written(kind: Callable[[str], object], code: str = "utf-8") -> _Step:
    return lambda machine: machine.push(kind(machine.line(code)))


def _integer(text: str) -> object:
    if text in ("00", "01"):
        return text == "01"
    return int(text.rstrip("L")) if len(text) < 400 else 0


def _tuple(count: int) -> _Step:
    return lambda machine: machine.push(tuple(machine.pop(count)))


def _get(key: Callable[[_Machine], int]) -> _Step:
    return lambda machine: machine.push(machine.memo[key(machine)])


def _put(key: Callable[[_Machine], int]) -> _Step:
    def step(machine: _Machine) -> None:
        machine.memo[key(machine)] = machine.top()

    return step


def _extend(target: object, values: list[Any]) -> None:
    if isinstance(target, list):
        target.extend(values)
    elif isinstance(target, Thing):
        target.items.extend(values)
    else:
        raise StrangeFileError("it adds to what takes nothing")


def _set(target: object, values: list[Any]) -> None:
    pairs = list(zip(values[::2], values[1::2], strict=True))
    if isinstance(target, Pairs):
        target.pairs.extend(pairs)
    elif isinstance(target, Thing):
        target.items.append(Pairs(pairs))
    else:
        raise StrangeFileError("it sets entries of what has none")


def _into(add: Callable[[object, list[Any]], None], count: int | None) -> _Step:
    """Return the step that adds some values, or all since a mark, to the container below them."""

    def step(machine: _Machine) -> None:
        values = machine.marked() if count is None else machine.pop(count)
        add(machine.top(), values)

    return step


def _dictionary(machine: _Machine) -> None:
    values = machine.marked()
    machine.push(Pairs(list(zip(values[::2], values[1::2], strict=True))))


def _kind(value: object) -> str:
    return value.kind if isinstance(value, NamedObject) else "something that is called"


def _stack_global(machine: _Machine) -> None:
    module, name = machine.pop(2)
    machine.push(NamedObject(f"{module}.{name}" if isinstance(module, str) and isinstance(name, str) else "no name"))


def _global(machine: _Machine) -> None:
    module = machine.line()
    machine.push(NamedObject(f"{module}.{machine.line()}"))


def _made(machine: _Machine) -> None:
    what, arguments = machine.pop(2)
    kind = _kind(what)
    if kind.endswith("._reconstructor") and isinstance(arguments, tuple) and arguments:
        kind = _kind(arguments[0])
    elif kind in _BYTES and isinstance(arguments, tuple):
        # How older protocols write bytes.
        given = arguments[0] if arguments else b""
        machine.push(given.encode("latin1", "replace") if isinstance(given, str) else given)
        return
    machine.push(Thing(kind, arguments))


def _made_with_names(machine: _Machine) -> None:
    what, arguments, named = machine.pop(3)
    machine.push(Thing(_kind(what), (arguments, named)))


def _stored(machine: _Machine) -> None:
    machine.push(Thing("persistent", machine.pop(1)[0]))


def _build(machine: _Machine) -> None:
    (state,) = machine.pop(1)
    target = machine.top()
    if isinstance(target, Thing):
        target.items.append(target.state)
        target.state = state
        if target.kind == _WRAPPER and isinstance(state, Pairs):
            _inline(machine, target, state)
    # Whatever else it was: what it holds is looked at.
    elif isinstance(target, list):
        target.append(state)
    elif isinstance(target, Pairs):
        target.pairs.append(("state", state))


def _inline(machine: _Machine, target: Thing, state: Pairs) -> None:
    """Read the bytes of an array that joblib writes between two opcodes."""
    dtype, shape = dtype_of(state.get("dtype")), state.get("shape")
    if dtype.hasobject:
        found, machine.at, why = read_pickle(machine.data, machine.budget, machine.at, machine.nested + 1)
        target.items.append(found)
        if why:
            raise StrangeFileError(why)
        return
    if state.get("numpy_array_alignment_bytes") is not None:
        machine.take(machine.number("B"))
    target.array = shaped(machine.data[machine.at :], dtype, shape, fortran=state.get("order") == "F")
    machine.take(target.array.nbytes)


def _key(form: str) -> Callable[[_Machine], int]:
    """Return the function that reads a key of the memo: a number of some bytes, or a line of digits."""
    return lambda machine: int(machine.number(form) if form else machine.line())


_STEPS: dict[int, _Step] = {
    ord("("): _mark,
    ord("0"): _pop,
    ord("1"): _pop_mark,
    ord("2"): lambda machine: machine.push(machine.top()),
    ord("F"): _written(float),
    **dict.fromkeys((ord("I"), ord("L")), _written(_integer)),
    ord("J"): _plain("J", "<i"),
    ord("K"): _plain("K", "B"),
    ord("M"): _plain("M", "<H"),
    ord("G"): _plain("G", ">d"),
    ord("N"): _fixed(lambda: None),
    ord("P"): _written(lambda name: Thing("persistent", name)),
    ord("Q"): _stored,
    ord("R"): _made,
    ord("S"): _written(lambda text: text.strip("'\""), "unicode-escape"),
    ord("T"): _textual("<i"),
    ord("U"): _textual("B"),
    ord("V"): _written(str, "raw-unicode-escape"),
    ord("X"): _textual("<I"),
    ord("a"): _into(_extend, 1),
    ord("b"): _build,
    ord("c"): _global,
    ord("d"): _dictionary,
    **dict.fromkeys((ord("e"), 0x90), _into(_extend, None)),
    ord("g"): _get(_key("")),
    ord("h"): _get(_key("B")),
    ord("j"): _get(_key("<I")),
    # Lists and frozen sets.
    **dict.fromkeys((ord("l"), 0x91), lambda machine: machine.push(machine.marked())),
    ord("p"): _put(_key("")),
    ord("q"): _put(_key("B")),
    ord("r"): _put(_key("<I")),
    ord("s"): _into(_set, 2),
    ord("t"): lambda machine: machine.push(tuple(machine.marked())),
    ord("u"): _into(_set, None),
    ord(")"): _fixed(tuple),
    **dict.fromkeys((ord("]"), 0x8F), _fixed(list)),
    ord("}"): _fixed(Pairs),
    ord("B"): _binary("<I"),
    ord("C"): _binary("B"),
    0x80: _skip(1),
    0x81: _made,
    **{0x84 + count: _tuple(count) for count in (1, 2, 3)},
    0x88: _fixed(lambda: True),
    0x89: _fixed(lambda: False),
    0x8A: _long("B"),
    0x8B: _long("<i"),
    0x8C: _textual("B"),
    0x8D: _textual("<Q"),
    0x8E: _binary("<Q"),
    0x92: _made_with_names,
    0x93: _stack_global,
    0x94: _put(lambda machine: len(machine.memo)),
    0x95: _skip(8),
    0x96: _binary("<Q"),
    0x97: _fixed(lambda: Thing("a buffer beside the file")),
    0x98: _skip(0),
}
