"""How much is unchecked: ``Any`` in annotations, of the engine's core and of the packages around it, and invariants of
the core that are written down.

The limits are where the tree stands. A change may only improve them: then set the constants to the new numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from scripts.house.tree import Module

CORE = ("millrace.checkpoint.", "millrace.runtime.")
AROUND = ("millrace.cluster.", "millrace.connectors.", "millrace.spark.", "millrace.table.")
MOST_ANY = 2_188
"""uses of ``Any`` in annotations of the core"""
MOST_ANY_AROUND = 2_265
"""uses of ``Any`` in annotations of the packages around it"""
LEAST_INVARIANTS = 27
"""``assert`` statements of the core that say more than that something is not None, and calls of ``validate``"""


def lax_core(modules: Mapping[str, Module]) -> Iterator[str]:
    """One line per number that is worse than its limit."""
    counted, said = uses_of_any(modules), invariants(modules)
    if counted > MOST_ANY:
        yield f"checkpoint and runtime have {counted} uses of Any in annotations (limit {MOST_ANY}): name the types"
    around = uses_of_any(modules, AROUND)
    if around > MOST_ANY_AROUND:
        names = ", ".join(each.split(".")[1] for each in AROUND)
        yield f"{names} have {around} uses of Any in annotations (limit {MOST_ANY_AROUND}): name the types"
    if said < LEAST_INVARIANTS:
        yield f"checkpoint and runtime have {said} invariants (at least {LEAST_INVARIANTS}): keep them in the code"


def uses_of_any(modules: Mapping[str, Module], packages: tuple[str, ...] = CORE) -> int:
    """How often annotations of these packages say ``Any``."""
    return sum(
        isinstance(part, ast.Name) and part.id == "Any"
        for module in _of(modules, packages)
        for node in ast.walk(module.tree)
        for annotation in _annotations(node)
        for part in ast.walk(annotation)
    )


def invariants(modules: Mapping[str, Module]) -> int:
    """Assertions of the core, and calls of methods that check others."""
    return sum(
        (isinstance(node, ast.Assert) and not _only_narrows(node.test))
        or (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "validate")
        for module in _of(modules, CORE)
        for node in ast.walk(module.tree)
    )


def _of(modules: Mapping[str, Module], packages: tuple[str, ...]) -> Iterator[Module]:
    return (module for name, module in modules.items() if name.startswith(packages))


def _annotations(node: ast.AST) -> Iterator[ast.expr]:
    """The annotations of a function's arguments and result, of an assignment."""
    if isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
        yield node.annotation
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
        yield node.returns


def _only_narrows(test: ast.expr) -> bool:
    """Whether an assertion is there for the type checker: ``x is not None``, ``isinstance(x, T)``."""
    if isinstance(test, ast.BoolOp):
        return all(map(_only_narrows, test.values))
    if isinstance(test, ast.Compare):
        return isinstance(test.ops[0], (ast.Is, ast.IsNot))
    return isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "isinstance"
