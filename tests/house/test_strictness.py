"""The numbers about types and invariants of the core count what they say."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.house import strictness
from scripts.house.strictness import AROUND, invariants, lax_core, uses_of_any
from scripts.house.tree import read_tree
from tests.house.test_layers import write

TEXT = """
from typing import Any

Any
x: dict[str, Any] = {}

def f(a: Any, b: int, *c: Any, **d: list[Any]) -> tuple[Any, Any]:
    assert a is not None and isinstance(b, int)
    assert b > 0, "b is a number of bytes"
    x.validate()
"""


def test_what_is_counted(tmp_path: Path) -> None:
    write(tmp_path, {"runtime/a.py": TEXT, "table/a.py": TEXT})
    modules = read_tree(tmp_path)
    assert (uses_of_any(modules), invariants(modules)) == (6, 2)
    assert uses_of_any(modules, AROUND) == 6


def test_more_any_and_fewer_invariants_are_breaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"checkpoint/a.py": TEXT, "spark/a.py": TEXT, "cli/a.py": TEXT})
    for name, value in (("MOST_ANY", 6), ("MOST_ANY_AROUND", 6), ("LEAST_INVARIANTS", 2)):
        monkeypatch.setattr(strictness, name, value)
    assert list(lax_core(read_tree(tmp_path))) == []
    monkeypatch.setattr(strictness, "MOST_ANY", 5)
    monkeypatch.setattr(strictness, "MOST_ANY_AROUND", 5)
    monkeypatch.setattr(strictness, "LEAST_INVARIANTS", 3)
    worse = list(lax_core(read_tree(tmp_path)))
    assert [text.split(" (")[0] for text in worse] == [
        "checkpoint and runtime have 6 uses of Any in annotations",
        "cluster, connectors, spark, table have 6 uses of Any in annotations",
        "checkpoint and runtime have 2 invariants",
    ]
