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
    yield line
    tree = tree_of_file(file)
    for each in ast.walk(tree) if tree is not None else ():
        if isinstance(each, ast.stmt) and not hasattr(each, "body") and not isinstance(each, ast.Match):
            lines = range(each.lineno, (each.end_lineno or each.lineno) + 1)
            yield from lines if line in lines else ()
