"""The syntax tree of a function that is there as an object."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable
from functools import lru_cache
from types import CodeType, FunctionType

Tree = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@lru_cache(maxsize=64)
def tree_of_file(path: str) -> ast.Module | None:
    """A file, as it is on the disk; None if there is none or it can't be read as Python."""
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return None


def tree_of(function: FunctionType) -> Tree | None:
    """The definition of a function; None if its source is not there."""
    code = function.__code__
    module = tree_of_file(code.co_filename)
    if module is None:
        return None
    found = [each for each in ast.walk(module) if isinstance(each, Tree) and _first_line(each) == code.co_firstlineno]
    same = [each for each in found if _named(each) == code.co_name and _arguments(each) == _arguments_of(code)]
    if len(same) > 1:  # lambdas on one line
        same = _around(same, code) or [each for each in same if _asked(each, code) == set(code.co_names)] or same
    return same[0] if same else None


def _around(trees: list[Tree], code: CodeType) -> list[Tree]:
    """The definitions that all of the code lies in, the innermost one first; none before Python 3.11, where code does
    not know its columns."""
    known: Iterable[tuple[int | None, ...]] = getattr(code, "co_positions", tuple)()
    places = [(line, column) for line, _, column, end in known if line is not None and column is not None and end]
    if not places:
        return []
    first, last = min(places), max(places)
    found = [each for each in trees if (each.lineno, each.col_offset) <= first and last < _end(each)]
    return sorted(found, key=lambda each: (each.lineno, each.col_offset), reverse=True)


def _end(tree: Tree) -> tuple[int, int]:
    return tree.end_lineno or tree.lineno, tree.end_col_offset or 0


def _first_line(tree: Tree) -> int:
    decorators = [] if isinstance(tree, ast.Lambda) else tree.decorator_list
    return min([tree.lineno, *(each.lineno for each in decorators)])


def _named(tree: Tree) -> str:
    return "<lambda>" if isinstance(tree, ast.Lambda) else tree.name


def _arguments(tree: Tree) -> list[str]:
    given = tree.args
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _arguments_of(code: CodeType) -> list[str]:
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _asked(tree: Tree, code: CodeType) -> set[str]:
    """The names that a definition would ask of its module or of objects, if its variables were those of the code."""
    found = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    return (found - own) | {each.attr for each in ast.walk(tree) if isinstance(each, ast.Attribute)}
