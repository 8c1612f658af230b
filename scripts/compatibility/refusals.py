"""Finds functions of Millrace that are there but raise NotImplementedError: they count as absent.

Read from the source: a function that begins with raising refuses always, one that raises somewhere refuses some calls.
``raise NotImplementedError`` without a text is an abstract method, and no refusal.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from millrace.pyflink_names.public_module import PublicModule, each

from .describe import syntax


@dataclass(frozen=True)
class Refusal:
    """Why a name or a call is refused: what raising NotImplementedError says, or the table of names."""

    always: bool
    nearest: str | None = None
    """what the message recommends, when the source shows it"""
    reason: str | None = None
    """why a name is not there, from ``millrace.pyflink_names``"""

    @property
    def text(self) -> str | None:
        """What the page says if scripts/compatibility/reasons.py has nothing to say."""
        return f"not there yet; nearest: {self.nearest}" if self.nearest else self.reason


def refusals_of_names(module: PublicModule) -> dict[str, Refusal]:
    """Name -> its refusal, of the names that a module does not have."""
    not_yet = {name: Refusal(True, nearest) for nearest, name, _ in each(module.not_yet)}
    return not_yet | {name: Refusal(True, reason=reason) for reason, name, _ in each(module.absent)}


def refusal_of(found: Any, cls: type | None = None, name: str = "") -> Refusal | None:
    """The refusal of a function; of an abstract method, that of all classes of ours that implement it."""
    function = inspect.unwrap(getattr(found, "__func__", found))
    refusal = _in_source(function)
    if refusal is not None or cls is None or not getattr(function, "__isabstractmethod__", False):
        return refusal
    refusals = [_in_source(function) for function in _implementations(cls, name)]
    if not refusals or refusals.count(None) == len(refusals):
        return None
    first = next(refusal for refusal in refusals if refusal is not None)
    return Refusal(first.always and None not in refusals, first.nearest)


def _in_source(function: Any) -> Refusal | None:
    if not inspect.isfunction(function) or not function.__module__.startswith("millrace."):
        return None
    definition = syntax(function)
    if definition is None:
        return None
    body = [part for part in definition.body if not _is_docstring(part)]
    for node in ast.walk(definition):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and _is_refusing(node.exc, function):
            return Refusal(bool(body) and body[0] is node, _nearest(node.exc))
    return None


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_refusing(call: ast.Call, function: Any) -> bool:
    """Is the exception a NotImplementedError, or made by a function that says it returns one?"""
    maker = function.__globals__.get(call.func.id) if isinstance(call.func, ast.Name) else None
    if isinstance(call.func, ast.Name) and call.func.id == "NotImplementedError":
        return True
    return getattr(maker, "__annotations__", {}).get("return") == "NotImplementedError"


def _nearest(call: ast.Call) -> str | None:
    last = call.args[-1] if call.args else None
    if not isinstance(last, ast.Constant) or not isinstance(last.value, str) or len(call.args) != 2:
        return None
    return last.value


def _implementations(cls: type, name: str) -> list[Any]:
    _import_everything()
    found: list[Any] = []
    children: list[type] = cls.__subclasses__()
    for child in children:
        if child.__module__.startswith("millrace."):
            found += [child.__dict__[name]] if name in child.__dict__ else []
            found += _implementations(child, name)
    return found


@cache
def _import_everything() -> None:
    """So that all subclasses are known."""
    package = import_module("millrace")
    for module in pkgutil.walk_packages(package.__path__, "millrace."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
