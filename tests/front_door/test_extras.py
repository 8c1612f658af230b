"""Extras: each one that a message names is there, and ``all`` has them all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.cli.setup_verbs import DISTRIBUTION

tomllib = pytest.importorskip("tomllib", reason="part of Python since 3.11")

ROOT = Path(__file__).parents[2]
NAMED = re.compile(re.escape(DISTRIBUTION) + r"\[([a-z0-9,-]+)\]")


def extras() -> dict[str, Any]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == DISTRIBUTION
    return dict(project["optional-dependencies"])


def texts() -> Iterator[tuple[str, str]]:
    for folder, ending in (("src", "*.py"), ("docs", "*.md")):
        for path in (ROOT / folder).rglob(ending):
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    yield "README.md", (ROOT / "README.md").read_text(encoding="utf-8")


def test_all_has_every_one() -> None:
    (everything,) = extras()["all"]
    assert set(NAMED.fullmatch(everything)[1].split(",")) == set(extras()) - {"all", "dev", "docs", "sql"}


def test_every_one_that_is_named_is_there() -> None:
    found = [(path, name) for path, text in texts() for names in NAMED.findall(text) for name in names.split(",")]
    assert len(found) > 30
    assert [each for each in found if each[1] not in extras()] == []


def test_dev_has_what_extras_need() -> None:
    def names(requirements: list[str]) -> set[str]:
        return {re.split(r"[\[<>=;]", each)[0] for each in requirements}

    connecting = [needs for extra, needs in extras().items() if extra not in ("all", "dev", "docs")]
    all_of_them = {name for needs in connecting for name in names(needs)}
    # OSS is tested with what is sent only; ipython comes with ipykernel.
    assert all_of_them - names(extras()["dev"]) <= {"ossfs", "ipython"}
