"""Classes of stored values: their names, the fields of their instances, and how instances of a changed class are read.

New fields get their default, removed fields are dropped, and the order of fields does not matter. A class may number
its form (``state_version: ClassVar[int]``); instances of another version go through its class method
``upgrade_state(version, fields) -> fields``, where ``fields`` are the stored ones.
"""

from __future__ import annotations

import copyreg
import dataclasses
import enum
import importlib
import inspect
import sys
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any

from millrace.checkpoint.compatibility import INCOMPATIBLE, compare_types, describe_type
from millrace.checkpoint.folder import RestoreError
from millrace.checkpoint.moved import present_module
from millrace.common.typeinfo import type_from_hint

Classes = Mapping[str, type]
"""Name -> class, for classes of the program's main module. Workers can't import that, so the driver sends the
classes."""
Default = Callable[[], Any] | None
"""makes the value of a field that was not stored; None: the field has no default"""

DATACLASS, NAMED_TUPLE, ENUM, OBJECT = "dataclass", "named tuple", "enum", "object"
_MAIN = "__main__"
_HEAP_TYPE = 1 << 9
"""Py_TPFLAGS_HEAPTYPE: the class was made by a class statement"""
_NO_CLASSES: dict[str, type] = {}


class MissingClassError(LookupError):
    """No class of this name can be imported."""


def name_of(cls: type) -> str | None:
    """``module:qualified name`` if the class can be imported by it later; None for local classes and the like.

    Classes of the main module have a name, too: the next run of the program has that module again.
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
    """The class of a name. Raises ``MissingClassError`` that says why it can't be imported."""
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
    # No attributes besides the fields, and no pickling of its own. namedtuple() itself makes __getnewargs__.
    return cls.__dictoffset__ == 0 and _pickles_as_usual(cls, ("__getnewargs_ex__",))


def _consists_of_attributes(cls: type) -> bool:
    """Whether an instance consists of its attributes only, and may be made without ``__init__``, as pickle does."""
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
    """The attributes with slots."""
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
    # Frozen dataclasses with slots have methods that the dataclass decorator made.
    own = [getattr(cls, name, None) for name in ("__getstate__", "__setstate__")]
    usual = (None, getattr(object, "__getstate__", None))
    return all(method in usual or getattr(method, "__module__", "") == "dataclasses" for method in own)


def reduces_by_default(cls: type) -> bool:
    """Whether the class has Python's default pickling."""
    plain: Any = object
    return cls.__reduce_ex__ is plain.__reduce_ex__ and cls.__reduce__ is plain.__reduce__


def version_of(cls: type) -> int:
    """The ``state_version`` that the class declares; 0 without one."""
    version = getattr(cls, "state_version", 0)
    return version if type(version) is int else 0


def fields_of(cls: Any) -> dict[str, Default]:
    """The fields of a dataclass or named tuple, in order, with functions that make their defaults."""
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
    """The description that is needed to read instances of the class later, as plain JSON. The class must have a
    name.
    """
    kind = kind_of(cls)
    described: dict[str, Any] = {"name": name_of(cls), "kind": kind, "version": version_of(cls)}
    if kind in (DATACLASS, NAMED_TUPLE):
        described["fields"] = dict(field_types(cls))
    return described


def field_types(cls: type) -> Iterable[tuple[str, Any]]:
    """The fields with the types that their annotations declare, as plain JSON; None where the annotation is too
    vague.
    """
    try:
        hints = typing.get_type_hints(cls)
    except Exception:  # names that only a type checker sees
        hints = {}
    for name in fields_of(cls):
        declared = type_from_hint(hints[name]) if name in hints else None
        yield name, None if declared is None else describe_type(declared)


# Classes that have changed

State = dict[str, Any]
"""the attributes of an instance"""
Upgrade = Callable[[int, Any], Any]


@dataclass(frozen=True)
class Problem:
    """A reason why this program can't read stored values."""

    of: str
    """name of the class"""
    wrong: str
    fix: str
    field: str | None = None
    state: str | None = None

    def __str__(self) -> str:
        where = [] if self.state is None else [f"state {self.state!r}"]
        where.append(f"class {self.of.replace(':', '.')}")
        if self.field is not None:
            where.append(f"field {self.field!r}")
        return f"{', '.join(where)}: {self.wrong}; {self.fix}"


class EvolutionError(RestoreError):
    """Stored values don't fit the classes of this program; the text says which class, and what to do."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


@dataclass(frozen=True)
class Change:
    """How stored instances of a class become instances of the present class."""

    cls: type
    stored: Sequence[str]
    """the class's fields when the instances were stored; empty for classes without declared fields"""
    version: int
    """``state_version`` of the class when the instances were stored"""
    upgrade: Upgrade | None = None
    """converts the fields of instances stored with another version; None: the version is the same"""
    fields: dict[str, Default] = field(default_factory=dict)
    """the present fields of the class, with their defaults"""

    @cached_property
    def is_none(self) -> bool:
        """Whether instances can be read as they were stored."""
        return self.upgrade is None and list(self.stored) == list(self.fields)

    @cached_property
    def stored_set(self) -> frozenset[str]:
        return frozenset(self.stored)

    def apply(self, state: State) -> State:
        """The attributes of the present instance. Attributes that were never fields are unchanged."""
        declared = self.stored_set | self.fields.keys()
        extra = {name: value for name, value in state.items() if name not in declared}
        if self.upgrade is not None:
            state = self.upgraded(dict(state))
        return {**{name: state[name] if name in state else self.default(name) for name in self.fields}, **extra}

    def default(self, name: str) -> Any:
        """The default of a field that was not stored."""
        make = self.fields[name]
        if make is None:
            raise EvolutionError([_no_default(self.name, name)])
        return make()

    def upgraded(self, state: Any) -> Any:
        """The fields of another version, converted by the class's ``upgrade_state``."""
        assert self.upgrade is not None
        try:
            return self.upgrade(self.version, state)
        except Exception as error:
            wrong = f"upgrade_state({self.version}, {_short(state)}) failed: {type(error).__name__}: {error}"
            raise EvolutionError([Problem(self.name, wrong, "correct it")]) from error

    @property
    def name(self) -> str:
        return f"{self.cls.__module__}:{self.cls.__qualname__}"


def change_of(stored: dict[str, Any], known: Classes) -> Change:
    """How to read instances of a class, given its description (``classes.describe_class``).

    :raises EvolutionError: the instances can't be read.
    """
    change, problems = examine(stored, known)
    if problems or change is None:
        raise EvolutionError(problems)
    return change


def examine(stored: dict[str, Any], known: Classes) -> tuple[Change | None, list[Problem]]:
    """How to read instances of a class, as ``change_of``, with all problems in a list; None if the class is missing."""
    name, kind = stored["name"], stored["kind"]
    try:
        cls = find_class(name, known)
    except MissingClassError as error:
        fix = "bring it back under this name (an alias of another class will do)"
        return None, [Problem(name, f"stored values need it, but {error}", fix)]
    now = kind_of(cls)
    if now != kind:
        fix = f"make it {_a(kind)} again, or give the new class another name"
        return None, [Problem(name, f"it was {_a(kind)} when the state was stored and is {_a(now)} now", fix)]
    if kind == ENUM:
        return Change(cls, (), 0), list(_missing_members(stored, cls))
    version, current = stored["version"], version_of(cls)
    upgrade = getattr(cls, "upgrade_state", None) if version != current else None
    if version != current and upgrade is None:
        wrong = f"the state was stored in version {version}, its state_version is {current}"
        fix = "give it a class method upgrade_state(version, fields)"
        return None, [Problem(name, wrong, fix)]
    if kind == OBJECT:
        problems = []
        if upgrade is not None and not stored.get("has_state", True):
            wrong = f"upgrade_state can't change version {version}: its __reduce__ stores no state"
            problems.append(Problem(name, wrong, "let the function that __reduce__ names read both versions"))
        return Change(cls, (), version, upgrade), problems
    change = Change(cls, tuple(stored["fields"]), version, upgrade, fields_of(cls))
    return change, [] if upgrade is not None else list(_field_problems(change, stored))


def _field_problems(change: Change, stored: dict[str, Any]) -> Iterable[Problem]:
    before = stored["fields"]
    for name, declared in field_types(change.cls):
        if name not in before:
            if change.fields[name] is None:
                yield _no_default(change.name, name)
        elif declared is not None and before[name] is not None:
            verdict = compare_types(before[name], declared)
            if verdict.startswith(INCOMPATIBLE):
                what = verdict.partition(": ")[2]
                fix = "declare the old type, or raise state_version and convert the value in upgrade_state()"
                yield Problem(change.name, f"its type has changed: {what}", fix, field=name)


def _no_default(of: str, name: str) -> Problem:
    fix = "give it a default, or raise state_version and set it in upgrade_state()"
    return Problem(of, "it is new and has no default", fix, field=name)


def _missing_members(stored: dict[str, Any], cls: Any) -> Iterable[Problem]:
    for member in stored.get("members", ()):
        if member not in cls.__members__:
            yield Problem(stored["name"], "stored values are this member, which is gone", "bring it back", field=member)


def _a(kind: str) -> str:
    names = {DATACLASS: "a dataclass", NAMED_TUPLE: "a named tuple", ENUM: "an enum", OBJECT: "an ordinary class"}
    return names[kind]


def _short(state: Any) -> str:
    text = repr(state)
    return text if len(text) <= 200 else f"{text[:200]}..."
