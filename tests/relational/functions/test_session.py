"""CURRENT_DATABASE."""

from __future__ import annotations

import pytest
from tests.relational.functions.examples import DOCS, Example

EXAMPLES = [
    Example("CURRENT_DATABASE", [], "default_database", DOCS),
    Example("CURRENT_DATABASE", [], "shop", DOCS, database="shop"),
    Example("CURRENT_DATABASE", [], "", DOCS, database=""),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_example(example: Example) -> None:
    example.check()
