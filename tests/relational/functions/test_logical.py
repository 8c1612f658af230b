"""AND, OR, NOT and the tests for TRUE, FALSE, UNKNOWN."""

from __future__ import annotations

import itertools

from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, STANDARD, Example, null

from millrace.relational import types as t

VALUES = (True, False, None)


def _and(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: bool | None, right: bool | None) -> bool | None:
    if left or right:
        return True
    return None if left is None or right is None else False


def _arg(value: bool | None) -> object:
    return null(t.BooleanType()) if value is None else value


EXAMPLES = [
    *(Example("AND", [_arg(a), _arg(b)], _and(a, b), DOCS, strict=False) for a, b in itertools.product(VALUES, VALUES)),
    *(Example("OR", [_arg(a), _arg(b)], _or(a, b), DOCS, strict=False) for a, b in itertools.product(VALUES, VALUES)),
    *(
        Example("AND", [_arg(a), _arg(b), _arg(c)], _and(_and(a, b), c), STANDARD, strict=False)
        for a, b, c in itertools.product(VALUES, VALUES, VALUES)
    ),
    Example("NOT", [True], False, DOCS),
    Example("NOT", [False], True, DOCS),
    Example("NOT", [null(t.BooleanType())], None, DOCS),
    *(
        Example(f"IS {negation}{name}", [_arg(value)], (value is meant) != bool(negation), DOCS, strict=False)
        for name, meant in (("TRUE", True), ("FALSE", False), ("UNKNOWN", None))
        for negation in ("", "NOT ")
        for value in VALUES
    ),
]


@corpus("example", EXAMPLES, 66)
def test_example(example: Example) -> None:
    example.check()
