"""What names in a function's source mean: the objects behind them, and the names under which others know these."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from millrace.lint.code.trees import Tree

UNKNOWN = object()


class Scope:
    """The surroundings of one function.

    :param owner: the object whose method it is, if it is one.
    :param made: attribute of the owner -> what its methods call to make it, ``requests.Session``.
    """

    def __init__(self, function: FunctionType, tree: Tree, owner: Any = None, made: Mapping[str, str] = {}) -> None:
        self._outer = {**vars(builtins), **function.__globals__, **_closure(function)}
        self._imported = dict(_imports(tree))
        code = function.__code__
        self._local = {*code.co_varnames, *code.co_cellvars} - {"self"}
        self._owner = owner
        self._made = made

    def is_outer(self, name: str) -> bool:
        """Whether a name is a variable of the module, or of a function around this one."""
        return name not in self._local and name in self._outer

    def value(self, expression: ast.expr) -> Any:
        """The object that a name, or attributes behind one, stand for; ``UNKNOWN`` if that shows at run time only."""
        if isinstance(expression, ast.Name):
            if expression.id == "self" and self._owner is not None:
                return self._owner
            return UNKNOWN if expression.id in self._local else self._outer.get(expression.id, UNKNOWN)
        if isinstance(expression, ast.Attribute):
            value = self.value(expression.value)
            if value is UNKNOWN:
                return UNKNOWN
            # Not getattr(): properties are the user's code.
            return inspect.getattr_static(value, expression.attr, UNKNOWN)
        return UNKNOWN

    def dotted(self, expression: ast.expr) -> str | None:
        """What is called, under the name of its module: ``time.sleep``; None if that is not known."""
        if isinstance(expression, ast.Attribute):
            if is_self(expression.value) and expression.attr in self._made:
                return self._made[expression.attr]
            value = self.value(expression.value)
            head = self.dotted(expression.value) if value is UNKNOWN else _name(value)
            return None if head is None else f"{head}.{expression.attr}"
        if not isinstance(expression, ast.Name):
            return None
        if expression.id in self._imported:
            return self._imported[expression.id]
        value = self.value(expression)
        return None if value is UNKNOWN else _name(value)


def is_self(expression: ast.expr) -> bool:
    """Whether it is the object whose method this is."""
    return isinstance(expression, ast.Name) and expression.id == "self"


def _name(value: Any) -> str | None:
    kind = type(value)  # not isinstance(): that asks the object, which may be anything
    if issubclass(kind, ModuleType):
        return str(value.__name__)
    if issubclass(kind, (BuiltinFunctionType, MethodType)) and not isinstance(value.__self__, ModuleType):
        owner = value.__self__ if isinstance(value.__self__, type) else type(value.__self__)
        return f"{owner.__module__}.{owner.__qualname__}.{value.__name__}"
    described = value if issubclass(kind, (FunctionType, BuiltinFunctionType, type)) else kind
    return f"{described.__module__}.{described.__qualname__}"


def _closure(function: FunctionType) -> dict[str, Any]:
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # it has no value yet
            continue
    return found


def _imports(tree: Tree) -> list[tuple[str, str]]:
    """(name, what it stands for) of the imports inside a function."""
    found = []
    for each in ast.walk(tree):
        if isinstance(each, ast.Import):
            found += [(a.asname or a.name.partition(".")[0], a.name if a.asname else a.name.partition(".")[0])
                      for a in each.names]  # fmt: skip
        elif isinstance(each, ast.ImportFrom):
            found += [(a.asname or a.name, f"{each.module}.{a.name}") for a in each.names]
    return found
