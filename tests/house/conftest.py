"""The tree of the package, parsed once for all tests that look at it."""

from __future__ import annotations

import pytest
from scripts.house.tree import Module, read_tree


@pytest.fixture(scope="session")
def modules() -> dict[str, Module]:
    return read_tree()
