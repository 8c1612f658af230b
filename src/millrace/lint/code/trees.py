"""The syntax tree of a function that is there as an object."""

from __future__ import annotations

import ast
import linecache
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
        same = [each for each in same if _names(each) >= set(code.co_names)] or same
    return same[0] if same else None


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


def _names(tree: Tree) -> set[str]:
    """The names that it may ask of its surroundings, or of objects."""
    found = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    return found | {each.attr for each in ast.walk(tree) if isinstance(each, ast.Attribute)}
