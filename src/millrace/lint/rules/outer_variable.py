"""ML012: functions that change variables outside of themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from millrace.lint.code.owners import functions_of, selectors_of
from millrace.lint.code.reach import Piece, pieces
from millrace.lint.facts.finding import Hit
from millrace.lint.facts.rule import Rule
from millrace.lint.facts.subject import Subject

_CHANGES = frozenset({
    *("append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "clear", "remove", "discard"),
})  # fmt: skip


def check(subject: Subject) -> Iterator[Hit]:
    for node in subject.graph.nodes:
        for code in (*functions_of(node), *selectors_of(node)):
            for piece in pieces(code):
                for place, name in _changed(piece):
                    what = f"{code.described} changes {name}"
                    yield Hit(piece.origin(place), f"{what}, a variable of the program: each worker has a copy")


def _changed(piece: Piece) -> Iterator[tuple[ast.AST, str]]:
    named = {name for each in ast.walk(piece.tree) if isinstance(each, ast.Global) for name in each.names}
    named |= {name for each in ast.walk(piece.tree) if isinstance(each, ast.Nonlocal) for name in each.names}
    for each in ast.walk(piece.tree):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) and each.id in named:
            yield each, each.id
        elif isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store | ast.Del):
            yield from _container(piece, each, each.value)
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr in _CHANGES:
            yield from _container(piece, each, each.func.value)


def _container(piece: Piece, place: ast.AST, changed: ast.expr) -> Iterator[tuple[ast.AST, str]]:
    if isinstance(changed, ast.Name) and piece.scope.is_outer(changed.id):
        if isinstance(piece.scope.value(changed), (list, dict, set)):
            yield place, changed.id


RULE = Rule(
    code="ML012",
    name="outer-variable",
    meaning="Functions run in other processes, each with a copy of the program's variables from when the job was "
    "submitted. What they change there the program never sees, nor other tasks, and it is gone after a "
    "restart.",
    cure="keep it in keyed state, count it with a metric or an accumulator, or give it out as elements",
    bad='''\
seen = []


def remember(word):
    seen.append(word)
    return word


words.map(remember).print()
env.execute()
''',
    good='''\
def mark(word):
    seen = []
    seen.append(word)
    return seen


words.map(mark).print()
env.execute()
''',
    check=check,
)
