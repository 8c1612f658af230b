"""CAST from and to VARIANT. What succeeds and what fails is as the comments of Flink's cast rules say."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from tests.corpus import corpus
from tests.relational.functions.examples import SOURCE, Example, null, of

from millrace.common.types import Row
from millrace.relational import types as t

VARIANT, STRING, INT = t.VariantType(), t.string(), t.IntType()
PAIR = t.RowType([t.RowField("a", INT), t.RowField("b", STRING)])


def read(json: str, target: t.DataType, gives: Any) -> Example:
    return Example("CAST", [of(VARIANT, json)], gives, SOURCE, cast=target)


def fails(json: str, target: t.DataType) -> list[Example]:
    message = f"the VARIANT {json} is not a value of {target.sql()}"
    return [
        Example("CAST", [of(VARIANT, json)], None, SOURCE, cast=target, raises=message),
        Example("TRY_CAST", [of(VARIANT, json)], None, SOURCE, cast=target),
    ]


EXAMPLES = [
    read("1", INT, 1),
    read("127", t.TinyIntType(), 127),
    read("null", INT, None),
    *fails("128", t.TinyIntType()),
    *fails("1.5", INT),
    *fails('"1"', INT),
    *fails("true", INT),
    read("1.5", t.DecimalType(3, 2), Decimal("1.50")),
    *fails("1.555", t.DecimalType(3, 2)),
    read("1.5", t.DoubleType(), 1.5),
    read("3", t.FloatType(), 3.0),
    *fails("1E+300", t.FloatType()),
    read("true", t.BooleanType(), True),
    *fails("1", t.BooleanType()),
    read('"abc"', STRING, "abc"),
    read("1", STRING, "1"),
    read('{"a":[1,null]}', STRING, '{"a":[1,null]}'),
    *fails('"abc"', t.VarCharType(2)),
    *fails('"abc"', t.CharType(4)),
    read("[1,null]", t.ArrayType(INT), [1, None]),
    *fails("1", t.ArrayType(INT)),
    read('{"x":1}', t.MapType(STRING, INT), {"x": 1}),
    read('{"b":"x","a":1}', PAIR, Row(a=1, b="x")),
    read('{"a":1}', PAIR, Row(a=1, b=None)),
    read("[[1]]", t.ArrayType(VARIANT), ["[1]"]),
    Example("CAST", [5], "5", SOURCE, cast=VARIANT),
    Example("CAST", ['a"b'], '"a\\"b"', SOURCE, cast=VARIANT),
    Example("CAST", [True], "true", SOURCE, cast=VARIANT),
    Example("CAST", [Decimal("1.50")], "1.5", SOURCE, cast=VARIANT),
    Example("CAST", [[1, None]], "[1,null]", SOURCE, cast=VARIANT),
    Example("CAST", [1.5], "1.5", SOURCE, cast=VARIANT),
    Example("CAST", [math.inf], None, SOURCE, cast=VARIANT, raises="a VARIANT cannot hold inf"),
    Example("CAST", [null(INT)], None, SOURCE, cast=VARIANT),
]


@corpus("example", EXAMPLES, 43)
def test_example(example: Example) -> None:
    example.check()
