"""Finds the cases, and what PyFlink said to them. Needs neither PyFlink nor Millrace."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

CASES = Path(__file__).with_name("cases")
ANSWERS = Path(__file__).with_name("answers")
PASSED = "passes"


@dataclass(frozen=True)
class Case:
    """One program."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def needs_spark(self) -> bool:
        return self.module.startswith("batch_")

    def load(self) -> Callable[[], None]:
        """The function. To import its module takes ``pyflink``."""
        function: Callable[[], None] = getattr(import_module(f"tests.dropin.cases.{self.module}"), self.name)
        return function


def text_of(module: str) -> str:
    return (CASES / f"{module}.py").read_text(encoding="utf-8")


def mark_of(module: str) -> str:
    """Tells one text of a module from the next."""
    return hashlib.sha256(text_of(module).encode()).hexdigest()[:16]


@cache
def cases() -> tuple[Case, ...]:
    """All of them, by what the files say."""
    found = []
    for file in sorted(CASES.glob("[!_]*.py")):
        for node in ast.parse(text_of(file.stem)).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                found.append(Case(file.stem, node.name))
    return tuple(found)


@cache
def answers(module: str) -> dict[str, Any]:
    """What PyFlink said to the cases of a module: ``text``, the mark of what was run, and ``cases``."""
    file = ANSWERS / f"{module}.json"
    answer: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"cases": {}}
    return answer
