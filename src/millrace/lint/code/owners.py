"""Finds the user's functions in the descriptions of operators."""

from __future__ import annotations

import functools
import inspect
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from types import FunctionType
from typing import Any

from millrace.graph.nodes import Node
from millrace.runtime.exchange.partitioners import Custom, Hash
from millrace.runtime.jobs import specs

_DEPTH = 8
"""How many steps into our own objects the search goes."""
_MOST_PARTS = 64
"""Larger containers hold data."""
_AROUND = frozenset(
    {"open", "close", "snapshot_state", "initialize_state", "get_produced_type", "setup", "finish", "is_deterministic"}
)
"""Methods that are not called for elements."""
_UNDECLARED = ("eval", "__call__")
"""Methods for elements that no class of ours declares."""
_LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))


@dataclass(frozen=True, eq=False)
class UserCode:
    """A function, or an object with methods, that the user has written."""

    value: Any
    origin: str
    """file:line where it was given to the program"""

    @property
    def described(self) -> str:
        if inspect.isfunction(self.value):
            return "the lambda" if self.value.__name__ == "<lambda>" else f"{self.value.__name__}()"
        return type(self.value).__qualname__

    def methods(self) -> list[FunctionType]:
        """What is called for elements."""
        if inspect.isfunction(self.value):
            return [self.value]
        kind = type(self.value)
        declared = [name for base in kind.__mro__ if _is_ours(base.__module__) for name in vars(base)]
        names = [name for name in declared if not name.startswith("_") and name not in _AROUND]
        return _own_methods(kind, [*names, *_UNDECLARED])

    def all_methods(self) -> list[FunctionType]:
        """All that the user has written of it."""
        if inspect.isfunction(self.value):
            return [self.value]
        kind = type(self.value)
        return _own_methods(kind, [name for base in kind.__mro__ for name in vars(base)])


def _own_methods(kind: type, names: list[str]) -> list[FunctionType]:
    found = (getattr(kind, name, None) for name in dict.fromkeys(names))
    return [each for each in found if isinstance(each, FunctionType) and is_users(each)]


def is_users(function: FunctionType) -> bool:
    """Whether a function is of the program rather than of a library."""
    return not _is_ours(function.__module__) and not function.__code__.co_filename.startswith(_LIBRARIES)


def functions_of(node: Node) -> Iterator[UserCode]:
    """What a node calls for its elements; of sources and sinks nothing."""
    if not node.is_source and not node.is_sink:
        yield from _named(_search(node.spec.parts(), _DEPTH, set()), node.origin)
        if isinstance(node.spec, specs.TableStep):
            yield from _named(_search(list(node.spec.config.wrappers()), _DEPTH, set()), node.origin)


def selectors_of(node: Node) -> Iterator[UserCode]:
    """What chooses the keys of its inputs."""
    for edge in node.edges:
        if isinstance(edge.partitioner, (Hash, Custom)):
            where = edge.partitioner.origin.rpartition(" at ")[2] or node.origin
            yield from _named(_search(edge.partitioner.key_selector, _DEPTH, set()), where)


def _named(found: Iterator[Any], origin: str) -> Iterator[UserCode]:
    return (UserCode(each, origin) for each in found)


def _search(value: Any, depth: int, seen: set[int]) -> Iterator[Any]:
    if depth == 0 or id(value) in seen or isinstance(value, type):
        return
    seen.add(id(value))
    if inspect.isfunction(value):
        if not _is_ours(value.__module__):
            yield value
        else:
            for cell in value.__closure__ or ():
                yield from _search(_content(cell), depth - 1, seen)
    elif inspect.ismethod(value):
        yield from _search(value.__self__, depth - 1, seen)
    elif isinstance(value, functools.partial):
        yield from _search(value.func, depth - 1, seen)
    elif isinstance(value, (tuple, list, dict)):
        parts = list(value.values()) if isinstance(value, dict) else value
        for part in parts if len(parts) <= _MOST_PARTS else ():
            yield from _search(part, depth - 1, seen)
    elif _is_ours(type(value).__module__):
        for part in _parts(value):
            yield from _search(part, depth - 1, seen)
    elif callable(value) or any(_is_ours(base.__module__) for base in type(value).__mro__):
        yield value


def _parts(value: Any) -> list[Any]:
    if is_dataclass(value):
        return [getattr(value, each.name, None) for each in fields(value)]
    return list(getattr(value, "__dict__", {}).values())


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it has no value yet
        return None


def _is_ours(module: str | None) -> bool:
    return module is not None and (module == "millrace" or module.startswith("millrace."))


