from __future__ import annotations

import pytest
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, PYTHON, SOURCE, Example, null, of

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.functions.registry import SignatureError, call
from millrace.relational.rex import Literal

NAMES = ("EXPR$0", "EXPR$1")
NAMED = {"names": ("id", "name")}
USER = t.RowType([t.RowField("id", t.IntType()), t.RowField("name", t.string())])


def _row(*values: object) -> Row:
    return Row(**dict(zip(NAMES, values)))


EXAMPLES = [
    Example("ROW", [1, "a"], _row(1, "a"), DOCS, strict=False),
    Example("ROW", [null(t.IntType()), "a"], _row(None, "a"), PYTHON, strict=False),
    Example("ROW", [1, "a"], Row(id=1, name="a"), PYTHON, NAMED, strict=False),
    Example("ROW", [[1, 2], {"x": 1}], _row([1, 2], {"x": 1}), PYTHON, strict=False),
    Example(
        "OBJECT_OF",
        ["User", "id", 1, "name", "Ann"],
        Row(id=1, name="Ann"),
        SOURCE,
        strict=False,
        constant=(0, 1, 3),
    ),
    Example("OBJECT_OF", ["User", "id", null(t.IntType())], Row(id=None), SOURCE, strict=False, constant=(0, 1)),
    Example("OBJECT_OF", ["User", "tags", [1, 2]], Row(tags=[1, 2]), SOURCE, strict=False, constant=(0, 1)),
    Example(
        "OBJECT_UPDATE",
        [of(USER, Row(id=1, name="Ann")), "name", "Bob"],
        Row(id=1, name="Bob"),
        SOURCE,
        strict=False,
        constant=(1,),
    ),
    Example(
        "OBJECT_UPDATE",
        [of(USER, Row(id=1, name="Ann")), "name", "Bob", "id", null(t.IntType())],
        Row(id=None, name="Bob"),
        SOURCE,
        strict=False,
        constant=(1, 3),
    ),
    Example("OBJECT_UPDATE", [null(USER), "name", "Bob"], None, SOURCE, strict=False, constant=(1,)),
]


@corpus("example", EXAMPLES, 10)
def test_example(example: Example) -> None:
    example.check()


@pytest.mark.parametrize(
    ("function", "args", "message"),
    [
        ("OBJECT_OF", ["User", "id"], "names are constant text"),
        ("OBJECT_OF", [None, "id", "1"], "the name of the class"),
        ("OBJECT_OF", ["User", "id", "1", "id", "2"], "each field once, not id, id"),
        ("OBJECT_UPDATE", [Row(id=1, name="Ann"), "age", "3"], "has id, name, not age"),
        ("OBJECT_UPDATE", ["Ann", "age", "3"], "it takes \\(ROW, field, value"),
    ],
)
def test_what_does_not_fit_is_refused(function: str, args: list[object], message: str) -> None:
    literals = [Literal(USER if isinstance(arg, Row) else t.string(), arg) for arg in args]
    with pytest.raises(SignatureError, match=message):
        call(function, literals)
