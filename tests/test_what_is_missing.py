"""``NotImplementedError`` is for what is missing, and says what to do instead. A mistake is another error."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import millrace

SOURCE = Path(millrace.__file__).parent
MISTAKES = re.compile(
    r"must be (?!constants)|never ends|can only stand|\btakes (an?|one|two|only)\b|is not one of|needs an? |"
    r"is set, but|no such|not found|unknown|does not exist|is empty|expected"
)
"""Words of a message that says what the user did wrong."""


def raised() -> Iterator[tuple[str, ast.FunctionDef | None, str | None]]:
    """Where one is made, the function, and its words; None: it has none."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        if "NotImplementedError" not in text:
            continue
        tree = ast.parse(text)
        around = {
            id(each): function
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef)
            for each in ast.walk(function)
        }
        for node in ast.walk(tree):
            name = node.func if isinstance(node, ast.Call) else node.exc if isinstance(node, ast.Raise) else None
            if isinstance(name, ast.Name) and name.id == "NotImplementedError":
                place = f"{path.relative_to(SOURCE)}:{node.lineno}"
                words = words_of(node.args[0]) if isinstance(node, ast.Call) and node.args else None
                yield place, around.get(id(node)), words


def words_of(node: ast.AST) -> str:
    """The constant part of a message."""
    return "".join(
        str(each.value) for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)
    )


def test_all_are_found() -> None:
    assert len(list(raised())) > 100


def test_one_without_words_is_a_method_that_subclasses_have() -> None:
    """So it has nothing else to do."""
    wrong = []
    for place, function, words in raised():
        if words is None:
            body = [] if function is None else function.body
            rest = [each for each in body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
            if len(rest) != 1:
                wrong.append(place)
    assert wrong == []


def test_none_is_for_a_mistake() -> None:
    assert [(place, words) for place, _, words in raised() if words and MISTAKES.search(words)] == []


@pytest.mark.parametrize("words", ["table x never ends: give its source an end", "UNNEST takes an ARRAY, not INT"])
def test_mistakes_would_be_noticed(words: str) -> None:
    assert MISTAKES.search(words)
