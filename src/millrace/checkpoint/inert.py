"""Reads pickles as data, for inspecting untrusted ones: nothing in them is imported, called or run.

``pickle`` itself can't guarantee that, because a pickle names the functions that it calls. Here its instructions are
only interpreted. Numbers, text, containers, times and Millrace's own records are restored; everything else becomes a
``PickledObject`` with its name and its parts. Reading takes ten to twenty times as long as with ``pickle``.

Hostile data may still be expensive to read: it may be large, or deep.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import io
import pickletools
import uuid
from collections.abc import Callable
from typing import IO, Any

from millrace.checkpoint.moved import present_module
from millrace.common.time import Instant
from millrace.common.types import RowKind, row_of
from millrace.common.window import CountWindow, GlobalWindow, TimeWindow
from millrace.runtime.coordination.reading import ReadingSnapshot
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.operator_state import Distribution
from millrace.runtime.state.tables import ABSENT


class PickledObject:
    """An object in a pickle, as data: the name of the class or function that would make it, and its arguments. Nothing
    of that name was imported or called.

    Two objects are equal if their names, arguments, states and items are.

        >>> PickledObject("shop.Order").name
        'shop.Order'
    """

    __slots__ = ("args", "items", "name", "state")

    def __init__(self, name: str, args: tuple[Any, ...] = ()) -> None:
        self.name = name
        """``module.name`` of a class or function"""
        self.args = args
        """arguments that its constructor would get"""
        self.state: Any = None
        """usually its attributes by name; None: it has no state"""
        self.items: list[Any] = []
        """elements of a list, or (key, value) pairs of a dict"""

    def _parts(self) -> tuple[Any, ...]:
        return self.name, self.args, self.state, self.items

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, self._parts()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PickledObject) and self._parts() == other._parts()

    def __hash__(self) -> int:
        # Only as far as the parts have a hash, which any key has.
        state = self.state.values() if isinstance(self.state, dict) else (self.state,)
        try:
            return hash((self.name, self.args, *state))
        except TypeError:
            return hash(self.name)

    def __repr__(self) -> str:
        parts = list(map(repr, self.args))
        if isinstance(self.state, dict):
            parts += [f"{name}={value!r}" for name, value in self.state.items()]
        elif self.state is not None:
            parts.append(repr(self.state))
        parts += map(repr, self.items)
        return f"<{' '.join([self.name, *parts])}>"


def _rebuilt(name: str, args: tuple[Any, ...], state: Any, items: list[Any]) -> PickledObject:
    made = PickledObject(name, args)
    made.state, made.items = state, items
    return made


FROM_ARGS: dict[str, Callable[..., Any]] = {
    "millrace.common.types.row_of": row_of,
    "millrace.common.types.RowKind": RowKind,
    "millrace.common.window.windows.TimeWindow": TimeWindow,
    "millrace.common.window.windows.GlobalWindow": GlobalWindow,
    "millrace.runtime.state.address.Scoped": Scoped,
    "millrace.runtime.state.operator_state.Distribution": Distribution,
    "datetime.date": datetime.date,
    "datetime.datetime": datetime.datetime,
    "datetime.time": datetime.time,
    "datetime.timedelta": datetime.timedelta,
    "datetime.timezone": datetime.timezone,
    "decimal.Decimal": decimal.Decimal,
    "builtins.complex": complex,
    "collections.Counter": collections.Counter,
    "collections.OrderedDict": collections.OrderedDict,
    "collections.deque": collections.deque,
}
"""Name -> class that is made from arguments: types whose constructors only store them."""
FROM_STATE: dict[str, Callable[..., Any]] = {
    "millrace.common.time.Instant": Instant,
    "millrace.common.window.windows.CountWindow": CountWindow,
    "millrace.runtime.coordination.reading.ReadingSnapshot": ReadingSnapshot,
    "uuid.UUID": uuid.UUID,
}
"""Name -> function that makes an object from named fields."""
ABSENT_NAME = "millrace.runtime.state.tables.ABSENT"
_OURS = "millrace.checkpoint.pickles."
"""Prefix of the functions that pickles in savepoints name; see that module."""
_SETTERS = frozenset({f"{_OURS}_set_fields", f"{_OURS}_set_state"})
_MARK = object()


class InertError(ValueError):
    """The data is not a pickle in the form that Millrace writes."""


class _Pending(PickledObject):
    """An object of a class in ``FROM_STATE`` whose state has not been read yet."""

    __slots__ = ("remembered_as",)
    remembered_as: int


def inert_loads(pickled: Any) -> Any:
    """The value of a pickle. Raises what ``inert_load`` raises."""
    return inert_load(io.BytesIO(pickled))


def inert_load(stream: IO[bytes]) -> Any:
    """The value of the next pickle in a stream.

    :raises InertError: the pickle is damaged, or uses instructions that Millrace never writes.
    """
    walk = _Walk()
    try:
        for instruction, argument, _ in pickletools.genops(stream):
            walk.do(instruction.name, argument)
        return walk.result()
    except InertError:
        raise
    except Exception as error:
        raise InertError(f"a pickle can't be read as data ({type(error).__name__}: {error})") from None


class _Walk:
    """The stack machine of ``pickle``, which never imports or calls anything. A name becomes a ``PickledObject``
    without arguments."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def result(self) -> Any:
        if len(self.stack) != 1 or self.stack[0] is _MARK:
            raise InertError("a pickle ends before its value is complete")
        return self.stack[0]

    def do(self, instruction: str, argument: Any) -> None:
        if instruction in _PUSH:
            self.stack.append(argument)
        elif instruction in _CONSTANTS:
            self.stack.append(_CONSTANTS[instruction])
        elif instruction in _FRESH:
            self.stack.append(_FRESH[instruction]())
        elif instruction in _WIDTHS:
            begin = len(self.stack) - _WIDTHS[instruction]
            self.stack[begin:] = [tuple(self.stack[begin:])]
        elif instruction in _STEPS:
            _STEPS[instruction](self, argument)
        elif instruction not in _NOTHING:
            raise InertError(f"a pickle has the instruction {instruction}, which Millrace never writes")

    def since_mark(self) -> list[Any]:
        begin = len(self.stack) - 1
        while self.stack[begin] is not _MARK:
            begin -= 1
            if begin < 0:
                raise InertError("a pickle has the end of something without its beginning")
        found = self.stack[begin + 1 :]
        del self.stack[begin:]
        return found

    def add(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if isinstance(target, set):
            target.update(items)
        elif isinstance(target, PickledObject):
            target.items.extend(items)
        elif isinstance(target, (list, collections.deque)):
            target.extend(items)
        else:
            raise InertError(f"a pickle adds elements to a {type(target).__name__}")

    def set(self, keys: list[Any], values: list[Any]) -> None:
        target = self.stack[-1]
        if isinstance(target, dict):
            for key, value in zip(keys, values):
                target[key] = value
        elif isinstance(target, PickledObject):
            target.items.extend(zip(keys, values))
        else:
            raise InertError(f"a pickle gives keys to a {type(target).__name__}")

    def set_many(self, _: Any) -> None:
        found = self.since_mark()
        self.set(found[::2], found[1::2])

    def set_one(self, _: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.set([key], [value])

    def remember(self, place: int | None) -> None:
        place = len(self.memo) if place is None else place
        self.memo[place] = self.stack[-1]
        if isinstance(self.stack[-1], _Pending):
            self.stack[-1].remembered_as = place

    def named(self, module: str, name: str) -> None:
        full = f"{present_module(module)}.{name}"
        self.stack.append(ABSENT if full == ABSENT_NAME else PickledObject(full))

    def named_by_stack(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.named(module, name)

    def call(self, _: Any) -> None:
        args, function = self.stack.pop(), self.stack.pop()
        if not isinstance(function, PickledObject) or not isinstance(args, tuple):
            raise InertError("a pickle calls what is no function")
        if function.name in _SETTERS:
            _, state = args
            self.set_state(state)
            self.stack.append(None)
        else:
            self.stack.append(_made(function, args))

    def call_with_names(self, _: Any) -> None:
        names = self.stack.pop()
        self.stack[-1] = (*self.stack[-1], *([names] if names else []))
        self.call(None)

    def build(self, _: Any) -> None:
        self.set_state(self.stack.pop())

    def set_state(self, state: Any) -> None:
        """Set the state of the topmost object. An object that replaces another one does so in the memo, too."""
        target = self.stack[-1]
        if isinstance(target, _Pending):
            fields = state if isinstance(state, dict) else {**(state[0] or {}), **state[1]}
            self.stack[-1] = FROM_STATE[target.name](**fields)
            self.memo[target.remembered_as] = self.stack[-1]
        elif isinstance(target, PickledObject):
            target.state = state
        else:
            raise InertError(f"a pickle gives state to a {type(target).__name__}")


def _made(function: PickledObject, args: tuple[Any, ...]) -> Any:
    """A stand-in for the result of a call."""
    name = function.name
    if name == f"{_OURS}_class_named":
        return PickledObject(str(args[0]).replace(":", "."))
    if name == f"{_OURS}_record":
        return PickledObject(args[0].name, args[1])
    if name in FROM_STATE and not args:
        return _Pending(name)
    make = FROM_ARGS.get(name)
    if make is not None:
        try:
            return make(*args)
        except Exception:  # a part of it is not what it should be: a zone of time is a PickledObject, say
            return PickledObject(name, args)
    # An object whose class came with its pickle gets the name of that class.
    return PickledObject(name, (*function.args, *args))


_NOTHING = frozenset({"PROTO", "FRAME", "STOP"})
_PUSH = frozenset(
    {"BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT"}
    | {"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8"}
)
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": (), "MARK": _MARK}
_FRESH: dict[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": set}
_WIDTHS = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_STEPS: dict[str, Callable[[_Walk, Any], object]] = {
    "TUPLE": lambda walk, _: walk.stack.append(tuple(walk.since_mark())),
    "FROZENSET": lambda walk, _: walk.stack.append(frozenset(walk.since_mark())),
    "APPEND": lambda walk, _: walk.add([walk.stack.pop()]),
    "APPENDS": lambda walk, _: walk.add(walk.since_mark()),
    "ADDITEMS": lambda walk, _: walk.add(walk.since_mark()),
    "SETITEM": _Walk.set_one,
    "SETITEMS": _Walk.set_many,
    "POP": lambda walk, _: walk.stack.pop(),
    "POP_MARK": lambda walk, _: walk.since_mark(),
    "DUP": lambda walk, _: walk.stack.append(walk.stack[-1]),
    "MEMOIZE": _Walk.remember,
    "BINPUT": _Walk.remember,
    "LONG_BINPUT": _Walk.remember,
    "BINGET": lambda walk, place: walk.stack.append(walk.memo[place]),
    "LONG_BINGET": lambda walk, place: walk.stack.append(walk.memo[place]),
    "GLOBAL": lambda walk, both: walk.named(*both.split(" ", 1)),
    "STACK_GLOBAL": _Walk.named_by_stack,
    "REDUCE": _Walk.call,
    "NEWOBJ": _Walk.call,
    "NEWOBJ_EX": _Walk.call_with_names,
    "BUILD": _Walk.build,
}
