"""Classes of stored values: by which name they are found again, and what their instances consist of."""

from __future__ import annotations

import copyreg
import dataclasses
import enum
import importlib
import inspect
import sys
import typing
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

from millrace.checkpoint.values.compatibility import describe_type
from millrace.checkpoint.values.moved import present_module
from millrace.common.typeinfo import type_from_hint

__all__ = ["Classes", "Default", "MissingClassError", "describe_class", "fields_of", "find_class", "kind_of", "name_of"]

Classes = Mapping[str, type]
"""name -> class: those of the program's main module, which workers can't import. The driver sends them along."""
Default = Callable[[], Any] | None
"""makes the value of a field that was not stored; None for a field that needs one"""

DATACLASS, NAMED_TUPLE, ENUM, OBJECT = "dataclass", "named tuple", "enum", "object"
_MAIN = "__main__"
_HEAP_TYPE = 1 << 9
"""Py_TPFLAGS_HEAPTYPE: the class was made by a class statement"""
_NO_CLASSES: dict[str, type] = {}


class MissingClassError(LookupError):
    """There is no class of this name."""


def name_of(cls: type) -> str | None:
    """``module:qualified name`` if the class can be found by it later on, None for local classes and their like.

    Classes of the main module have one, too: the next run of the program has that module again.
    """
    module, name = cls.__module__, cls.__qualname__
    if "<locals>" in name:
        return None
    found = _lookup(module, name)
    if found is cls or module == _MAIN:
        return f"{module}:{name}"
    return None


def is_of_main_module(name: str) -> bool:
    """Whether only the driver can import the class."""
    return name.startswith(f"{_MAIN}:")


def find_class(name: str, known: Classes = _NO_CLASSES) -> type:
    """The class of a name. Raises ``MissingClassError`` that says why there is none."""
    if name in known:
        return known[name]
    module, _, path = name.partition(":")
    module = present_module(module)
    if module not in sys.modules:
        try:
            importlib.import_module(module)
        except Exception as error:
            raise MissingClassError(f"module {module} can't be imported ({error})") from error
    found = _lookup(module, path)
    if not isinstance(found, type):
        raise MissingClassError(f"module {module} has no class {path}")
    return found


def _lookup(module: str, path: str) -> Any:
    try:
        return attrgetter(path)(sys.modules[module])
    except (KeyError, AttributeError):
        return None


def kind_of(cls: type) -> str:
    """How instances are stored: by field, by member, or as Python pickles them (``object``)."""
    if issubclass(cls, enum.Enum):
        return ENUM
    if issubclass(cls, tuple):
        return NAMED_TUPLE if _is_named_tuple(cls) else OBJECT
    return DATACLASS if dataclasses.is_dataclass(cls) and _consists_of_attributes(cls) else OBJECT


def _is_named_tuple(cls: type) -> bool:
    names = getattr(cls, "_fields", None)
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        return False
    # No attributes beyond the fields, and no own idea of how it is pickled. namedtuple() itself makes __getnewargs__.
    return cls.__dictoffset__ == 0 and _pickles_as_usual(cls, ("__getnewargs_ex__",))


def _consists_of_attributes(cls: type) -> bool:
    """Whether an instance is its attributes and nothing else, and may be made without ``__init__``, as by pickle."""
    if not all(base.__flags__ & _HEAP_TYPE for base in cls.__mro__[:-1]):
        return False  # it extends a builtin such as dict: there is more in it than attributes
    fields = {field.name for field in dataclasses.fields(cls)}
    slots = slots_of(cls)
    if not slots <= fields:
        return False
    if any(name not in slots and hasattr(inspect.getattr_static(cls, name, None), "__set__") for name in fields):
        return False  # a property or another descriptor stands for the attribute
    return _pickles_as_usual(cls, ("__getnewargs__", "__getnewargs_ex__"))


def slots_of(cls: type) -> set[str]:
    """The attributes that have slots."""
    named: set[str] = set()
    for base in cls.__mro__:
        slots = base.__dict__.get("__slots__", ())
        named.update([slots] if isinstance(slots, str) else slots)
    return named - {"__dict__", "__weakref__"}


def _pickles_as_usual(cls: type, refused: tuple[str, ...]) -> bool:
    if not reduces_by_default(cls):
        return False
    if cls in copyreg.dispatch_table or any(hasattr(cls, name) for name in refused):
        return False
    # Frozen dataclasses with slots have methods that dataclasses made.
    own = [getattr(cls, name, None) for name in ("__getstate__", "__setstate__")]
    usual = (None, getattr(object, "__getstate__", None))
    return all(method in usual or getattr(method, "__module__", "") == "dataclasses" for method in own)


def reduces_by_default(cls: type) -> bool:
    """Whether the class leaves it to Python what its pickles consist of."""
    plain: Any = object
    return cls.__reduce_ex__ is plain.__reduce_ex__ and cls.__reduce__ is plain.__reduce__


def version_of(cls: type) -> int:
    """The ``state_version`` that the class declares, 0 without."""
    version = getattr(cls, "state_version", 0)
    return version if type(version) is int else 0


def fields_of(cls: Any) -> dict[str, Default]:
    """The fields of a dataclass or named tuple, in order, with what makes their defaults."""
    if issubclass(cls, tuple):
        defaults = getattr(cls, "_field_defaults", {})
        return {name: _constant(defaults[name]) if name in defaults else None for name in cls._fields}
    return {field.name: _default(field) for field in dataclasses.fields(cls)}


def _default(field: dataclasses.Field[Any]) -> Default:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory
    return None if field.default is dataclasses.MISSING else _constant(field.default)


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def describe_class(cls: type) -> dict[str, Any]:
    """What of a class has to be known to read its instances later, as plain JSON. The class must have a name."""
    kind = kind_of(cls)
    described: dict[str, Any] = {"name": name_of(cls), "kind": kind, "version": version_of(cls)}
    if kind in (DATACLASS, NAMED_TUPLE):
        described["fields"] = dict(field_types(cls))
    return described


def field_types(cls: type) -> Iterable[tuple[str, Any]]:
    """The fields and the types that their annotations declare, as plain JSON; None where they say too little."""
    try:
        hints = typing.get_type_hints(cls)
    except Exception:  # names that only a type checker sees
        hints = {}
    for name in fields_of(cls):
        declared = type_from_hint(hints[name]) if name in hints else None
        yield name, None if declared is None else describe_type(declared)
