"""Values without a columnar form: one pickle each, with a list of the classes that occur in them.

Instances of dataclasses and of classes with a ``state_version`` are pickled so that they pass through a function of
this module when they are read, which adapts them to the present class. Classes are pickled by name, also those of the
main module, so that a restored job finds its own classes.
"""

from __future__ import annotations

import copyreg
import io
import pickle
import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import cloudpickle
import numpy as np
import pyarrow as pa

from millrace.checkpoint.classes import (
    DATACLASS,
    NAMED_TUPLE,
    OBJECT,
    Change,
    Classes,
    EvolutionError,
    Problem,
    change_of,
    describe_class,
    find_class,
    is_of_main_module,
    kind_of,
    name_of,
    reduces_by_default,
    slots_of,
)
from millrace.checkpoint.moved import loads, present_module
from millrace.util.by_value import Pickler

__all__ = ["decode_pickles", "encode_pickles"]


FORM = "pickle"
_STANDARD = frozenset(sys.stdlib_module_names)
"""names of the standard library's modules, whose classes always exist"""


# -- writing ----------------------------------------------------------------------------------------------------------


def encode_pickles(values: Sequence[Any]) -> tuple[pa.Array, dict[str, Any]]:
    """A binary column of pickles. Raises what cloudpickle raises for values that can't be pickled."""
    buffer = io.BytesIO()
    pickler = _Pickler(buffer)
    dump, tell, forget, ends = pickler.plain_dump, buffer.tell, pickler.clear_memo, [0]
    for value in values:
        dump(value)
        ends.append(tell())
        forget()
    content = pa.py_buffer(buffer.getbuffer())
    offsets = pa.py_buffer(np.array(ends, np.int64))
    array = pa.Array.from_buffers(pa.large_binary(), len(values), [None, offsets, content])
    return array, {"form": FORM, "classes": [pickler.described[cls] for cls in pickler.described]}


class _Pickler(Pickler):
    """Records the classes that it meets."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.described: dict[type, dict[str, Any]] = {}
        self._reducers: dict[type, Callable[[Any], Any]] = {FunctionType: self._reduce_function}
        """class -> how to reduce its instances"""
        self._by_reference: set[Any] = set()
        """functions that can be imported by their names"""
        self._reduced_classes: dict[type, Any] = {}
        self._by_default = super().reducer_override
        self.plain_dump = super(cloudpickle.Pickler, self).dump  # cloudpickle's own only words an error differently

    def reducer_override(self, value: Any) -> Any:
        cls = type(value)
        reduce = self._reducers.get(cls)
        if reduce is None:
            reduce = self._reducers[cls] = self._reducer(cls)
        return reduce(value)

    def _reduce_class(self, cls: type) -> Any:
        reduced = self._reduced_classes.get(cls)
        if reduced is None:
            name = self._note(cls)
            if name is None:
                return self._by_default(cls)  # by value
            reduced = (_class_named, (name,)) if is_of_main_module(name) else NotImplemented
            self._reduced_classes[cls] = reduced
        return reduced

    def _reduce_function(self, function: Any) -> Any:
        if function in self._by_reference:
            return NotImplemented
        reduced = self._by_default(function)
        if reduced is NotImplemented:
            self._by_reference.add(function)
        return reduced

    def _note(self, cls: type) -> str | None:
        """Record a class that the column needs from now on; returns its name."""
        name = name_of(cls)
        if name is not None and cls.__module__.partition(".")[0] not in _STANDARD and cls not in self.described:
            self.described[cls] = describe_class(cls)
        return name

    def _reducer(self, cls: type) -> Callable[[Any], Any]:
        if issubclass(cls, type):
            return self._reduce_class
        self._note(cls)
        kind = kind_of(cls)
        if kind == DATACLASS:
            slots = sorted(slots_of(cls))
            make = copyreg.__newobj__  # type: ignore[attr-defined]
            return lambda value: (make, (cls,), _attributes(value, slots), None, None, _set_fields)
        if kind == NAMED_TUPLE:
            return lambda value: (_record, (cls, tuple(value)))
        if kind == OBJECT and cls in self.described and cls not in self.dispatch_table:
            return self._reduce_object
        return self._by_default

    def _reduce_object(self, value: Any) -> Any:
        """Reduces an object as pickle does, but so that the state of the instance can be seen when it is read."""
        reduced = value.__reduce_ex__(5)
        if not isinstance(reduced, tuple) or len(reduced) > 5:
            return reduced
        make, args, state, *items = (*reduced, None, None, None)[:5]
        if state is None:
            if not reduces_by_default(type(value)):
                self.described[type(value)]["has_state"] = False
                return reduced
            state = {}  # no attributes yet
        return make, args, state, *items, _set_state


def _attributes(value: Any, slots: list[str]) -> dict[str, Any]:
    attributes = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    attributes.update(getattr(value, "__dict__", ()))
    return attributes


# -- what pickles refer to: these names are part of the format --------------------------------------------------------


def _class_named(name: str) -> type:
    return find_class(name)


def _record(cls: type, values: tuple[Any, ...]) -> Any:
    return tuple.__new__(cls, values)


def _set_fields(instance: Any, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        object.__setattr__(instance, name, value)  # that of the class may refuse: it is frozen


def _set_state(instance: Any, state: Any) -> None:
    """Sets the state of an instance as ``pickle`` does by default."""
    if hasattr(instance, "__setstate__"):
        instance.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    if attributes:
        instance.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        setattr(instance, name, value)


# -- reading ----------------------------------------------------------------------------------------------------------


def decode_pickles(array: pa.Array, description: dict[str, Any], known: Classes) -> list[Any]:
    """The values of a column. Raises ``EvolutionError`` if they don't fit the classes of this program."""
    pickles = array.to_numpy(zero_copy_only=False).tolist()
    described = description["classes"]
    changes = {change.cls: change for change in (change_of(each, known) for each in described)}
    needs_help = any(not change.is_none for change in changes.values()) or any(
        each["name"] in known for each in described
    )
    try:
        if needs_help:
            return list(map(_Reader(known, changes).load, pickles))
        return list(map(loads, pickles))
    except EvolutionError:
        raise
    except Exception as error:
        wrong = f"a stored value can't be unpickled ({type(error).__name__}: {error})"
        names = ", ".join(each["name"] for each in described) or "values"
        raise EvolutionError([Problem(names, wrong, "let the classes and functions in it be as they were")]) from error


class _Reader:
    """Reads pickles with the classes of this program."""

    def __init__(self, known: Classes, changes: dict[type, Change]) -> None:
        self._known = known
        self._changes = {cls: change for cls, change in changes.items() if not change.is_none}
        self._found: dict[tuple[str, str], Any] = {
            (__name__, "_class_named"): self._class_named,
            (__name__, "_record"): self._record,
            (__name__, "_set_fields"): self._set_fields,
            (__name__, "_set_state"): self._set_state,
        }

    def load(self, pickled: bytes) -> Any:
        unpickler = _Unpickler(io.BytesIO(pickled))
        unpickler.found, unpickler.known = self._found, self._known
        return unpickler.load()

    def _class_named(self, name: str) -> type:
        return find_class(name, self._known)

    def _record(self, cls: type, values: tuple[Any, ...]) -> Any:
        change = self._changes.get(cls)
        if change is not None:
            now = change.apply(dict(zip(change.stored, values)))
            values = tuple(now[name] for name in change.fields)
        return _record(cls, values)

    def _set_fields(self, instance: Any, fields: dict[str, Any]) -> None:
        change = self._changes.get(type(instance))
        _set_fields(instance, fields if change is None else change.apply(fields))

    def _set_state(self, instance: Any, state: Any) -> None:
        change = self._changes.get(type(instance))
        _set_state(instance, state if change is None else change.upgraded(state))


class _Unpickler(pickle.Unpickler):
    found: dict[tuple[str, str], Any]
    known: Classes

    def find_class(self, module: str, name: str) -> Any:
        place = (present_module(module), name)
        if place not in self.found:
            by_name = f"{module}:{name}"
            known = self.known.get(by_name)
            self.found[place] = super().find_class(*place) if known is None else known
        return self.found[place]
