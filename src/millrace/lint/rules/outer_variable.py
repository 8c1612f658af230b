"""ML012: functions that change variables outside of themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from millrace.lint.code.owners import functions_of, selectors_of
from millrace.lint.code.reach import Piece, pieces
from millrace.lint.facts.finding import Hit
from millrace.lint.facts.rule import Rule
from millrace.lint.facts.subject import Subject

_CHANGES = frozenset({"append", "extend", "insert", "add"})


def check(subject: Subject) -> Iterator[Hit]:
    for node in subject.graph.nodes:
        for code in (*functions_of(node), *selectors_of(node)):
            for piece in pieces(code):
                for place, name in _changed(piece):
                    what = f"{code.described} changes {name}"
                    yield Hit(piece.origin(place), f"{what}, a variable of the program: each worker has a copy")


def _changed(piece: Piece) -> Iterator[tuple[ast.AST, str]]:
    """What is counted or collected outside. Caches are fine: variables that are set, and containers that are also
    read."""
    statements = [each for each in ast.walk(piece.tree) if isinstance(each, ast.Global | ast.Nonlocal)]
    named = {name for each in statements for name in each.names}
    for each in ast.walk(piece.tree):
        match each:
            case ast.AugAssign(target=ast.Name(id=name)) if name in named:
                yield each, name
            case ast.AugAssign(target=ast.Subscript(value=ast.Name() as changed)) if _is_container(piece, changed):
                yield each, changed.id
            case ast.Assign(targets=[ast.Subscript(value=ast.Name() as changed)]) if _is_container(piece, changed):
                if not _is_read(piece, changed.id):
                    yield each, changed.id
            case ast.Call(func=ast.Attribute(value=ast.Name() as changed, attr=attr)) if attr in _CHANGES:
                if _is_container(piece, changed):
                    yield each, changed.id


def _is_container(piece: Piece, name: ast.Name) -> bool:
    return piece.scope.is_outer(name.id) and type(piece.scope.value(name)) in (list, dict, set)


def _is_read(piece: Piece, name: str) -> bool:
    """Whether a container is used otherwise than to put something into it."""
    used = [each for each in ast.walk(piece.tree) if isinstance(each, ast.Name) and each.id == name]
    stored = [
        each
        for each in ast.walk(piece.tree)
        if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store) and ast.unparse(each.value) == name
    ]
    return len(used) > len(stored)


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
