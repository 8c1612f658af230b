"""The code that runs when a function of the user is called: its own, and that of the user's functions it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from millrace.lint.code.owners import UserCode, is_users
from millrace.lint.code.scope import Scope, is_self
from millrace.lint.code.trees import Tree, tree_of

_MOST = 50
"""Functions that are looked at for one of the user's."""


@dataclass(frozen=True, eq=False)
class Piece:
    """One function that runs."""

    function: FunctionType
    tree: Tree
    scope: Scope

    def origin(self, node: ast.AST) -> str:
        """file:line of something in it."""
        return f"{self.function.__code__.co_filename}:{getattr(node, 'lineno', self.tree.lineno)}"

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """(what is called, the call) of all calls whose function is known by name."""
        for each in ast.walk(self.tree):
            if isinstance(each, ast.Call) and (dotted := self.scope.dotted(each.func)) is not None:
                yield dotted, each


def pieces(code: UserCode, methods: Sequence[FunctionType] | None = None) -> Iterator[Piece]:
    """All that runs for an element, as far as its source is there; ``methods`` says what else to begin with."""
    owner = None if isinstance(code.value, FunctionType) else code.value
    made = {} if owner is None else _made(code)
    waiting = list(code.methods() if methods is None else methods)
    seen: set[Any] = set()
    while waiting and len(seen) < _MOST:
        function = waiting.pop(0)
        tree = None if function.__code__ in seen else tree_of(function)
        seen.add(function.__code__)
        if tree is not None:
            piece = Piece(function, tree, Scope(function, tree, owner, made))
            yield piece
            waiting += _called(piece)


def _made(code: UserCode) -> dict[str, str]:
    """Attribute -> what is called to make it, where methods of the object say so: ``self.client = httpx.Client()``."""
    found: dict[str, str] = {}
    for function in code.all_methods():
        tree = tree_of(function)
        if tree is None:
            continue
        scope = Scope(function, tree)
        for each in ast.walk(tree):
            match each:
                case ast.Assign(targets=[ast.Attribute(value=of, attr=name)], value=ast.Call(func=called)):
                    if is_self(of) and (dotted := scope.dotted(called)) is not None:
                        found[name] = dotted
    return found


def _called(piece: Piece) -> list[FunctionType]:
    values = [piece.scope.value(each.func) for each in ast.walk(piece.tree) if isinstance(each, ast.Call)]
    return [each for each in values if isinstance(each, FunctionType) and is_users(each)]
