"""Comments that say that a finding is known: ``# millrace: ignore[ML003]``, or ``# millrace: ignore`` for all."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator

from millrace.lint.code.trees import tree_of_file

_COMMENT = re.compile(r"#.*?\bmillrace:\s*ignore(?:\[(?P<rules>[^\]]*)\])?")


def is_ignored(origin: str, code: str, name: str) -> bool:
    """Whether the line of a finding has such a comment, or another line of the same simple statement."""
    file, _, line = origin.rpartition(":")
    if not line.isdigit():
        return False
    return any({"*", code, name} & _ignored(linecache.getline(file, each)) for each in _lines(file, int(line)))


def _ignored(text: str) -> set[str]:
    found = _COMMENT.search(text)
    if found is None:
        return set()
    rules = found["rules"]
    return {"*"} if rules is None else {each.strip() for each in rules.split(",")}


def _lines(file: str, line: int) -> Iterator[int]:
    tree = tree_of_file(file)
    around = [each for each in ast.walk(tree) if _is_simple_and_has(each, line)] if tree is not None else []
    yield line
    for statement in around:
        assert isinstance(statement, ast.stmt)
        yield from range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _is_simple_and_has(node: ast.AST, line: int) -> bool:
    if not isinstance(node, ast.stmt) or hasattr(node, "body"):
        return False
    return node.lineno <= line <= (node.end_lineno or node.lineno)
