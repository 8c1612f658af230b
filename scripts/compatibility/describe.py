"""What the public names of a module are: classes, members, parameters, values. The same code looks at both sides.

Descriptions are plain data for JSON. A member is a list: its kind (``method``, ``static``, ``class``, ``property``,
``attribute``, ``value``), then its parameters as they are written in Python, without annotations. Runs where Millrace
is not installed.
"""

from __future__ import annotations

import ast
import enum
import inspect
import os
from collections.abc import Iterator
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

# Methods that Python calls for the user: a program notices when they are missing.
PROTOCOLS = frozenset(
    f"__{name}__"
    for name in (
        "call", "iter", "next", "enter", "exit", "getitem", "setitem", "delitem", "len", "contains", "eq", "hash",
        "lt", "le", "gt", "ge", "add", "sub", "str", "repr", "getattr",
    )
)  # fmt: skip


def is_public(name: str) -> bool:
    return not name.startswith("_")


def is_member(name: str) -> bool:
    return is_public(name) or name in PROTOCOLS


def shown(value: Any) -> str:
    """A default or constant, the same in every process and version of Python."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return repr(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))}{',' * (len(value) == 1)})"
    if isinstance(value, (list, set, dict)) and not value:
        return repr(value)
    name = getattr(value, "__qualname__", None)
    return name if name and isinstance(name, str) else f"<{type(value).__name__}>"  # expressions have any attribute


def parameters(function: Any, bound: bool) -> list[str]:
    """``name``, ``name=default``, ``*names``, ``**names``; a ``*`` before what can only be passed by name."""
    found: list[str] = []
    every = list(inspect.signature(function).parameters.values())
    for parameter in every[1:] if bound else every:
        star = "*" * (parameter.kind is parameter.VAR_POSITIONAL) + "**" * (parameter.kind is parameter.VAR_KEYWORD)
        if parameter.kind is parameter.KEYWORD_ONLY and not any(name.startswith("*") for name in found):
            found.append("*")
        default = "" if parameter.default is parameter.empty else f"={shown(parameter.default)}"
        found.append(f"{star}{parameter.name}{default}")
    return found


def member_of(cls: type, name: str) -> list[str] | None:
    """The description of ``cls.name``, wherever it is inherited from; None if there is none but object's."""
    if issubclass(cls, enum.Enum) and name in cls.__members__:
        value = cls.__members__[name].value
        return ["value", shown(value)]
    try:
        found = inspect.getattr_static(cls, name)
    except AttributeError:
        return ["attribute"] if name in attributes(cls) else None
    if name in PROTOCOLS and (found is None or found is getattr(object, name, None)):
        return None
    if isinstance(found, staticmethod):
        return ["static", *parameters(found.__func__, bound=False)]
    if isinstance(found, classmethod):
        return ["class", *parameters(found.__func__, bound=True)]
    if isinstance(found, property):
        return ["property"]
    if inspect.ismemberdescriptor(found):
        return ["attribute"]
    if inspect.isclass(found):
        return ["class object"]
    if inspect.isroutine(found):
        try:
            return ["method", *parameters(found, bound=True)]
        except ValueError:  # written in C
            return ["method"]
    return ["attribute"] if name in attributes(cls) else ["value", shown(found)]


def init_of(cls: type) -> list[str]:
    """The parameters of the constructor; none if it is object's, or nobody calls it since the class is an enum."""
    if issubclass(cls, enum.Enum):
        return []
    for name in ("__init__", "__new__"):
        found = inspect.getattr_static(cls, name)
        function = getattr(found, "__func__", found)
        if isinstance(function, FunctionType) and function.__module__ not in ("typing", "abc"):
            return parameters(function, bound=True)
    return []


@cache
def attributes(cls: type) -> frozenset[str]:
    """Public attributes of instances: what some method assigns to ``self``, and annotated fields."""
    found: set[str] = set()
    for base in cls.__mro__:
        found.update(name for name in inspect.get_annotations(base) if is_public(name))
        for member in base.__dict__.values():
            if isinstance(member, FunctionType):
                found |= _assigned(member)
    return frozenset(found)


def _assigned(method: FunctionType) -> set[str]:
    if not method.__code__.co_varnames or method.__code__.co_argcount == 0:
        return set()
    owner = method.__code__.co_varnames[0]
    found = set()
    definition = syntax(method)
    for node in _statements(definition) if definition is not None else ():
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == owner:
                    found.add(part.attr)
    return {name for name in found if is_public(name)}


def _statements(definition: ast.FunctionDef) -> Iterator[ast.AST]:
    """What is inside a function, without the functions and classes inside it: their ``self`` is another."""
    pending = list(ast.iter_child_nodes(definition))
    while pending:
        inner = pending.pop()
        if not isinstance(inner, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
            yield inner
            pending += ast.iter_child_nodes(inner)


def syntax(function: FunctionType) -> ast.FunctionDef | None:
    """The syntax tree of a function; None if it has no source (made by dataclass), or is a lambda."""
    return _functions(function.__code__.co_filename).get(function.__code__.co_firstlineno)


@cache
def _functions(file: str) -> dict[int, ast.FunctionDef]:
    """Line of its first decorator or its ``def`` -> function, of a whole file: reading them one by one takes longer."""
    if not os.path.exists(file):
        return {}
    with open(file, encoding="utf-8") as source:
        nodes = [node for node in ast.walk(ast.parse(source.read())) if isinstance(node, ast.FunctionDef)]
    return {min([node.lineno, *(part.lineno for part in node.decorator_list)]): node for node in nodes}


def full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _is_described(cls: type, package: str) -> bool:
    """Is ``cls`` a public class of the package, so that what it hands down is described with it?"""
    return cls.__module__.partition(".")[0] == package and not any(
        part.startswith("_") for part in cls.__qualname__.split(".")
    )


def describe_class(cls: type, package: str) -> dict[str, Any]:
    """``bases``, ``init``, ``members`` (own ones), ``inherited`` (base -> names), ``classes`` inside."""
    bases = [base for base in cls.__mro__[1:] if _is_described(base, package)]
    handed_down = {name: full_name(base) for base in reversed(bases) for name in _names(base, package, bases)}
    own = _names(cls, package, bases)
    inherited: dict[str, list[str]] = {}
    for name, base in sorted(handed_down.items()):
        if name not in own:
            inherited.setdefault(base, []).append(name)
    inner = {
        name: value
        for name, value in cls.__dict__.items()
        if is_public(name) and inspect.isclass(value) and value.__qualname__ == f"{cls.__qualname__}.{name}"
    }
    members = {name: member_of(cls, name) for name in sorted(own)}
    return {
        "bases": [full_name(base) for base in bases],
        "init": init_of(cls),
        "members": {name: member for name, member in members.items() if member is not None},
        "inherited": inherited,
        "classes": {name: describe_class(value, package) for name, value in sorted(inner.items())},
    }


def _is_described_member(name: str, value: Any) -> bool:
    """Classes inside are described as such; ``__hash__ = None`` says that there is none."""
    return is_member(name) and not inspect.isclass(value) and (is_public(name) or value is not None)


def _names(cls: type, package: str, described: list[type]) -> set[str]:
    """Public names that ``cls`` itself defines, or private bases of it that nobody else describes."""
    found: set[str] = set()
    for base in cls.__mro__:
        if base is not cls and (base in described or base.__module__.partition(".")[0] != package):
            continue
        if base is not cls and any(issubclass(other, base) for other in described if other is not cls):
            continue
        found.update(name for name, value in base.__dict__.items() if _is_described_member(name, value))
        for member in base.__dict__.values():
            if isinstance(member, FunctionType):
                found |= _assigned(member)
    if issubclass(cls, enum.Enum):
        found = {name for name in found if not name.startswith("__") or name in cls.__dict__}
        found |= cls.__members__.keys()
    return found


def constants(module: ModuleType) -> dict[str, str]:
    """Public names that the module itself assigns."""
    names: list[str] = []
    for node in ast.parse(inspect.getsource(module)).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names += [target.id for target in targets if isinstance(target, ast.Name) and is_public(target.id)]
    values = {name: getattr(module, name) for name in names if hasattr(module, name)}
    return {
        name: shown(value)
        for name, value in values.items()
        if type(value).__module__ != "typing" and not inspect.isclass(value) and not inspect.isroutine(value)
    }


def exports(module: ModuleType) -> list[str]:
    """``__all__``, and all other classes that a package shows: it keeps them for programs of earlier versions."""
    found = list(getattr(module, "__all__", ()))
    if hasattr(module, "__path__"):
        package = module.__name__.partition(".")[0]
        found += [
            name
            for name, value in vars(module).items()
            if is_public(name) and inspect.isclass(value) and value.__module__.partition(".")[0] == package
        ]
    return list(dict.fromkeys(found))


def describe_module(module: ModuleType) -> dict[str, Any]:
    """``classes``, ``functions``, ``constants`` that the module defines, and what it ``exports`` from elsewhere."""
    package = module.__name__.partition(".")[0]
    own = {
        name: value
        for name, value in vars(module).items()
        if is_public(name) and getattr(value, "__module__", None) == module.__name__
    }
    classes = {name: value for name, value in own.items() if inspect.isclass(value)}
    functions = {name: value for name, value in own.items() if inspect.isfunction(value)}
    values = constants(module)
    exported = [name for name in exports(module) if name not in {*classes, *functions, *values}]
    return {
        "exports": {name: full_name(getattr(module, name)) for name in exported},
        "classes": {name: describe_class(value, package) for name, value in classes.items()},
        "functions": {name: parameters(value, bound=False) for name, value in functions.items()},
        "constants": values,
    }
