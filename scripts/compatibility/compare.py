"""Finds the problems: where a name of Millrace is not what PyFlink's description of it says."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from millrace.pyflink_names import NAMES, PublicModule

from .describe import PROTOCOLS, init_of, is_public, member_of, parameters, shown
from .refusals import Refusal, refusal_of, refusals_of_names

ABSENT = "absent"

# What a caller can't tell apart.
_ALIKE = {"static": "called on the class", "class": "called on the class", "property": "attribute"}


@dataclass(frozen=True)
class Entry:
    """One public name of PyFlink, and what is wrong with ours."""

    name: str
    """the full name: pyflink.common.types.Row.as_dict"""
    shown: str
    """as the page shows it, inside its module"""
    problems: tuple[str, ...] = ()
    refusal: Refusal | None = None
    """why ours is not there, or why calling it raises NotImplementedError"""
    additions: tuple[str, ...] = ()


@dataclass
class ModuleEntries:
    """All entries of one module of PyFlink, and public names of ours beyond them."""

    name: str
    entries: list[Entry] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)


def our_name(name: str) -> str:
    return name.replace("pyflink", "millrace", 1)


def compare(description: dict[str, Any]) -> list[ModuleEntries]:
    """Every module of PyFlink's description, in its order."""
    return [_Comparison(description["modules"], name).run() for name in description["modules"]]


def parameter_problems(theirs: list[str], ours: list[str]) -> tuple[list[str], list[str]]:
    """What a call by PyFlink's signature could trip over, and the parameters that ours has beyond."""
    problems: list[str] = []
    java: list[str] = []
    rest = list(ours)
    for parameter in theirs:
        name, _, default = parameter.partition("=")
        if rest and rest[0].partition("=")[0] == name:
            problems += _default_problems(name, default, rest.pop(0).partition("=")[2])
        elif name.startswith("j_"):
            java.append(name)
        elif rest:
            problems.append(f"`{rest.pop(0)}` instead of `{parameter}`")
        else:
            problems.append(f"without `{parameter}`")
    additions = [parameter for parameter in rest if parameter != "*"]
    required = [name for name in additions if "=" not in name and not name.startswith("*")]
    for name in java:
        instead = f", takes {_code(required)} in its place" if required else ""
        problems.append(f"without the Java object `{name}`{instead}")
    if required and not java:
        problems.append(f"requires {_code(required)}")
    return problems, [name for name in additions if name not in required]


def _default_problems(name: str, theirs: str, ours: str) -> list[str]:
    if not theirs or theirs == ours:
        return []  # a parameter that may be left out here takes all that PyFlink's takes
    return [f"`{name}` must be given" if not ours else f"`{name}` is {ours} by default, not {theirs}"]


def _code(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


class _Comparison:
    """One module."""

    def __init__(self, modules: dict[str, Any], name: str) -> None:
        self._modules = modules
        self._theirs = modules[name]
        self._found = ModuleEntries(name)
        self._ours: ModuleType | None = None
        self._not_there = refusals_of_names(NAMES.get(name.removeprefix("pyflink."), PublicModule()))

    def run(self) -> ModuleEntries:
        try:
            self._ours = importlib.import_module(our_name(self._found.name))
        except ModuleNotFoundError:
            self._ours = None
        for name, home in self._theirs["exports"].items():
            self._export(name, home)
        for name, theirs in self._theirs["classes"].items():
            self._class(name, theirs, *self._look_up(name))
        for name, signature in self._theirs["functions"].items():
            self._function(name, signature, *self._look_up(name))
        for name, value in self._theirs["constants"].items():
            self._constant(name, value, *self._look_up(name))
        self._found.beyond += sorted(self._names_beyond())
        return self._found

    def _add(self, name: str, shown: str, *problems: str, **more: Any) -> None:
        self._found.entries.append(Entry(f"{self._found.name}.{name}", shown, problems, **more))

    def _look_up(self, name: str) -> tuple[Any, Refusal | None]:
        """Our object of that name; None if there is none, with the reason if the table of names has one."""
        if name in self._not_there:
            return None, self._not_there[name]
        return getattr(self._ours, name, None), None

    def _export(self, name: str, home: str) -> None:
        ours, refusal = self._look_up(name)
        if ours is None:
            return self._add(name, name, ABSENT, refusal=refusal)
        module, _, inside = home.rpartition(".")
        expected = getattr(importlib.import_module(our_name(module)), inside, None)
        problems = [] if ours is expected else [f"is not `{home}`"]
        return self._add(name, name, *problems)

    def _constant(self, name: str, theirs: str, ours: Any, refusal: Refusal | None) -> None:
        if ours is None:
            return self._add(name, f"{name} = {theirs}", ABSENT, refusal=refusal)
        return self._add(name, f"{name} = {theirs}", *_value_problems(theirs, shown(ours)))

    def _function(self, name: str, theirs: list[str], ours: Any, refusal: Refusal | None) -> None:
        text = f"{name}({', '.join(theirs)})"
        if ours is None:
            return self._add(name, text, ABSENT, refusal=refusal)
        problems, additions = parameter_problems(theirs, parameters(ours, bound=False))
        return self._add(name, text, *problems, refusal=refusal_of(ours), additions=tuple(additions))

    def _class(self, name: str, theirs: dict[str, Any], ours: Any, refusal: Refusal | None) -> None:
        if not inspect.isclass(ours):
            return self._absent_class(name, theirs, refusal)
        problems, additions = parameter_problems(theirs["init"], init_of(ours))
        bases = [base for base in theirs["bases"] if not self._has_base(ours, base)]
        problems += [f"is no subclass of `{base}`" for base in bases]
        refusal = refusal_of(inspect.getattr_static(ours, "__init__"))
        if refusal is not None and refusal.always:
            return self._absent_class(name, theirs, refusal)
        self._add(name, _class_text(name, theirs), *problems, refusal=refusal, additions=tuple(additions))
        for member, signature in theirs["members"].items():
            self._member(name, member, signature, ours)
        for base, members in theirs["inherited"].items():
            for member in members:
                self._inherited(name, member, base, ours)
        for inner, description in theirs["classes"].items():
            self._class(f"{name}.{inner}", description, getattr(ours, inner, None), None)
        self._found.beyond += sorted(f"{name}.{extra}" for extra in self._members_beyond(theirs, ours))
        return None

    def _absent_class(self, name: str, theirs: dict[str, Any], refusal: Refusal | None) -> None:
        self._add(name, _class_text(name, theirs), ABSENT, refusal=refusal)
        for member, signature in theirs["members"].items():
            self._add(f"{name}.{member}", _member_text(name, member, signature), ABSENT, refusal=refusal)
        for inner, description in theirs["classes"].items():
            self._absent_class(f"{name}.{inner}", description, refusal)

    def _has_base(self, ours: type, base: str) -> bool:
        expected = self._class_of(base)
        return expected is not None and issubclass(ours, expected)

    def _class_of(self, full_name: str) -> type | None:
        """Our class for PyFlink's full name."""
        try:
            found: Any = importlib.import_module(our_name(self._module_of(full_name)))
            for part in full_name.removeprefix(f"{self._module_of(full_name)}.").split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError, NotImplementedError):
            return None
        return found if inspect.isclass(found) else None

    def _module_of(self, full_name: str) -> str:
        return max((name for name in self._modules if full_name.startswith(f"{name}.")), key=len)

    def _signature(self, full_name: str, member: str) -> list[str]:
        """The description of a member in the class that PyFlink defines it in."""
        module = self._module_of(full_name)
        first, *inner = full_name.removeprefix(f"{module}.").split(".")
        description = self._modules[module]["classes"][first]
        for part in inner:
            description = description["classes"][part]
        signature: list[str] = description["members"][member]
        return signature

    def _member(self, cls: str, name: str, theirs: list[str], ours: type) -> None:
        problems, additions, refusal = _member_problems(name, theirs, ours)
        text = _member_text(cls, name, theirs)
        self._add(f"{cls}.{name}", text, *problems, refusal=refusal, additions=tuple(additions))

    def _inherited(self, cls: str, name: str, base: str, ours: type) -> None:
        """Only what is not as in the class that hands it down: that one has an entry of its own."""
        theirs = self._signature(base, name)
        found = _member_problems(name, theirs, ours)
        handing_down = self._class_of(base)
        expected = ([ABSENT], [], None) if handing_down is None else _member_problems(name, theirs, handing_down)
        if found != expected and (found[0] or found[2]):
            self._add(f"{cls}.{name}", _member_text(cls, name, theirs), *found[0], refusal=found[2])

    def _names_beyond(self) -> Iterator[str]:
        theirs = {name for part in self._theirs.values() for name in part}
        for name in getattr(self._ours, "__all__", ()):
            if name not in theirs and is_public(name):
                yield name

    def _members_beyond(self, theirs: dict[str, Any], ours: type) -> Iterator[str]:
        known = {*theirs["members"], *theirs["classes"], *(n for names in theirs["inherited"].values() for n in names)}
        for base in ours.__mro__:
            if base.__module__.startswith("millrace."):
                known |= {name for name in base.__dict__ if base is not ours and not self._is_hidden(base)}
                yield from (name for name in base.__dict__ if is_public(name) and name not in known)

    @staticmethod
    def _is_hidden(base: type) -> bool:
        return base.__name__.startswith("_")


def _member_problems(name: str, theirs: list[str], cls: type) -> tuple[list[str], list[str], Refusal | None]:
    ours = member_of(cls, name)
    if ours is None:
        return [ABSENT], [], None
    kinds = [_ALIKE.get(kind, kind) for kind in (theirs[0], ours[0])]
    if theirs[0] == "value" and kinds[1] in ("value", "attribute"):
        return _value_problems(theirs[1], ours[1] if ours[0] == "value" else theirs[1]), [], None
    if kinds[0] == "attribute" and kinds[1] == "value":
        kinds[1] = "attribute"
    if kinds[0] != kinds[1]:
        return [f"{ours[0]} instead of {theirs[0]}"], [], None
    if kinds[0] == "attribute" or name in PROTOCOLS:
        return [], [], None
    problems, additions = parameter_problems(theirs[1:], ours[1:])
    return problems, additions, refusal_of(inspect.getattr_static(cls, name), cls, name)


def _value_problems(theirs: str, ours: str) -> list[str]:
    return [] if theirs == ours else [f"is {ours}, not {theirs}"]


def _class_text(name: str, theirs: dict[str, Any]) -> str:
    return f"{name}({', '.join(theirs['init'])})" if theirs["init"] else name


def _member_text(cls: str, name: str, theirs: list[str]) -> str:
    if theirs[0] == "value":
        return f"{cls}.{name} = {theirs[1]}"
    return f"{cls}.{name}" if theirs[0] in ("attribute", "property") else f"{cls}.{name}({', '.join(theirs[1:])})"
