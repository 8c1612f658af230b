"""The first line of a docstring says what the thing is, in words that are read once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "millrace"
RIDDLES = re.compile(r"\b(nobody|somebody|whoever|anew|naught|thereof|whence)\b", re.IGNORECASE)


def first_lines() -> Iterator[tuple[str, str]]:
    for file in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                docstring = ast.get_docstring(node)
                if docstring:
                    yield f"{file.relative_to(SOURCES)}", " ".join(docstring.split("\n\n")[0].split())


def test_first_lines_have_no_riddles() -> None:
    assert [(file, line) for file, line in first_lines() if RIDDLES.search(line)] == []
