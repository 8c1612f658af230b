"""Instances of classes that have changed since they were stored.

Fields that are new get their default, fields that are gone are dropped, the order does not matter. A class may number
its form (``state_version: ClassVar[int]``); instances of another version go through its class method
``upgrade_state(version, fields) -> fields``, where ``fields`` are those that were stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from millrace.checkpoint.files.errors import RestoreError
from millrace.checkpoint.values.classes import (
    DATACLASS,
    ENUM,
    NAMED_TUPLE,
    OBJECT,
    Classes,
    Default,
    MissingClassError,
    field_types,
    fields_of,
    find_class,
    kind_of,
    version_of,
)
from millrace.checkpoint.values.compatibility import INCOMPATIBLE, compare_types

__all__ = ["Change", "EvolutionError", "Problem", "change_of", "examine"]

State = dict[str, Any]
"""the attributes of an instance"""
Upgrade = Callable[[int, Any], Any]


@dataclass(frozen=True)
class Problem:
    """Why stored values can't be read by this program."""

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
    """Stored values don't fit the classes of this program; the text says which and what to do."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


@dataclass(frozen=True)
class Change:
    """The way from stored instances of a class to instances of the class as it is now."""

    cls: type
    stored: Sequence[str]
    """its fields when it was stored; none for objects that have no declared fields"""
    version: int
    """when it was stored"""
    upgrade: Upgrade | None = None
    """for instances of another version"""
    fields: dict[str, Default] = field(default_factory=dict)
    """now"""

    @cached_property
    def is_none(self) -> bool:
        """Whether instances can be read as they were stored."""
        return self.upgrade is None and list(self.stored) == list(self.fields)

    @cached_property
    def stored_set(self) -> frozenset[str]:
        return frozenset(self.stored)

    def apply(self, state: State) -> State:
        """The attributes that an instance has now. What is no field of either time stays."""
        declared = self.stored_set | self.fields.keys()
        extra = {name: value for name, value in state.items() if name not in declared}
        if self.upgrade is not None:
            state = self.upgraded(dict(state))
        return {**{name: state[name] if name in state else self.default(name) for name in self.fields}, **extra}

    def default(self, name: str) -> Any:
        """The value of a field that has none."""
        make = self.fields[name]
        if make is None:
            raise EvolutionError([_no_default(self.name, name)])
        return make()

    def upgraded(self, state: Any) -> Any:
        """What the class makes of the state of another version."""
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

    :raises EvolutionError: they can't be read.
    """
    change, problems = examine(stored, known)
    if problems or change is None:
        raise EvolutionError(problems)
    return change


def examine(stored: dict[str, Any], known: Classes) -> tuple[Change | None, list[Problem]]:
    """The same, with everything that is in its way; no change without the class."""
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
