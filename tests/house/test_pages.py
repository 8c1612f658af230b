"""Names on the pages for contributors are looked up."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.house.pages import PAGES, ROOT, missing

WORDS = frozenset({"Gate", "settle", "notify", "millrace.epoch.interval-ms"})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (
        "src/millrace/runtime/tasks/task.py",
        "src/millrace/runtime/__init__.py",
        "tests/runtime/test_task.py",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("class StageTask: ...\n")
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        "`runtime/tasks/task.py`, `runtime/tasks/`, `src/millrace/runtime`, `tests/runtime/test_task.py`",
        "`runtime/tasks/` has `task.py`",
        "`runtime/tasks/task.py` and what is beside `task.py`",
        "| `tests/runtime/` |\n|---|\n| `test_task.py` |",
        "`millrace.runtime`, `millrace.runtime.tasks.task`, `millrace.runtime.tasks.task.StageTask`",
        "`Gate`, `Gate.settle`, `notify()`, `millrace.epoch.interval-ms`",
        "`make lint`, `--help`, `a -> b`, `key_by(...)`, `/jobs/ID`, `config.yaml`",
        "```\n`runtime/gone.py`\n```",
        "    Map -> runtime/tasks/task.py     a picture",
    ],
)
def test_what_is_there(root: Path, text: str) -> None:
    assert list(missing(text, root, WORDS)) == []


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        ("`runtime/gone.py`", 1, "runtime/gone.py"),
        ("\n`runtime/gone/`", 2, "runtime/gone/"),
        ("`task.py`", 1, "task.py"),
        ("`runtime/tasks/`\n\n## Another section\n\n`task.py`", 5, "task.py"),
        ("`millrace.runtime.gone`", 1, "millrace.runtime.gone"),
        ("`millrace.runtime.tasks.task.Other`", 1, "millrace.runtime.tasks.task.Other"),
        ("`Fork`", 1, "Fork"),
        ("`Gate.cut()`", 1, "Gate.cut()"),
        ("```\n\n```\n`Fork`", 4, "Fork"),
        ("    Map -> runtime/gone.py", 1, "runtime/gone.py"),
    ],
)
def test_what_is_not(root: Path, text: str, line: int, name: str) -> None:
    assert list(missing(text, root, WORDS)) == [(line, name)]


def test_the_pages_are_there() -> None:
    """`make lint` looks their names up."""
    assert all((ROOT / page).exists() for page in PAGES)
