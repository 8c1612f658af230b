"""Docstrings and notes that tools have damaged when modules were moved or joined."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from scripts.house.tree import Module

_SEAM = re.compile(r"""\w "\n\s*"\w""")
"""where two literals were put into one"""


def damaged_texts(modules: Mapping[str, Module]) -> Iterator[str]:
    """One line per text that documents nothing, or that is cut in two."""
    for module in modules.values():
        for block in ast.walk(module.tree):
            if not isinstance(block, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            for place, statement in enumerate(block.body):
                text = _text(statement)
                if text is None:
                    continue
                if place and not _documents(statement, block.body[place - 1]):
                    yield f"{module.name}:{statement.lineno} stands behind no assignment: {text[:60]!r}"
                if _SEAM.search(text) or _has_stray_backslash(module, statement):
                    yield f"{module.name}:{statement.lineno} is damaged: {text[:60]!r}"


def _text(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return statement.value.value if isinstance(statement.value.value, str) else None
    return None


def _has_stray_backslash(module: Module, statement: ast.stmt) -> bool:
    """Whether a quote has a backslash before it, which no text in three quotes needs."""
    return "\\'" in module.text and "\\'" in (ast.get_source_segment(module.text, statement) or "")


def _documents(note: ast.stmt, before: ast.stmt) -> bool:
    """Whether a note belongs to the assignment in the line above it."""
    return isinstance(before, (ast.Assign, ast.AnnAssign)) and before.end_lineno == note.lineno - 1
