"""Functions of DOUBLEs."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, JAVA, PYTHON, SOURCE, Example

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "SQRT": math.sqrt,
    "EXP": math.exp,
    "LN": math.log,
    "LOG": math.log,
    "LOG10": math.log10,
    "LOG2": math.log2,
    "SIN": math.sin,
    "COS": math.cos,
    "TAN": math.tan,
    "COT": lambda x: 1 / math.tan(x),
    "ASIN": math.asin,
    "ACOS": math.acos,
    "ATAN": math.atan,
    "SINH": math.sinh,
    "COSH": math.cosh,
    "TANH": math.tanh,
    "DEGREES": math.degrees,
    "RADIANS": math.radians,
}

EXAMPLES = [
    *(
        Example(name, [value], compute(float(value)), PYTHON, close=True)
        for name, compute in FUNCTIONS.items()
        for value in (1, 0.5, Decimal("0.25"))
    ),
    Example("SQRT", [-1.0], math.nan, JAVA),
    Example("LN", [0.0], -math.inf, JAVA),
    Example("LN", [-1.0], math.nan, JAVA),
    Example("LOG10", [0.0], -math.inf, JAVA),
    Example("LOG2", [-1.0], math.nan, JAVA),
    Example("ASIN", [2.0], math.nan, JAVA),
    Example("EXP", [1000], math.inf, JAVA),
    Example("LOG", [2, 8], 3.0, DOCS, close=True),
    Example("LOG", [10.0, 1000], 3.0, DOCS, close=True),
    Example("POWER", [2, 10], 1024.0, DOCS),
    Example("POWER", [2.0, -1], 0.5, DOCS),
    Example("POWER", [1.0, math.nan], math.nan, JAVA),
    Example("POWER", [-1.0, math.inf], math.nan, JAVA),
    Example("POWER", [-8.0, Decimal("0.5")], math.nan, JAVA),
    Example("ATAN2", [1, 1], math.pi / 4, SOURCE, close=True),
    Example("ATAN2", [-1.0, 0.0], -math.pi / 2, SOURCE, close=True),
    Example("ATAN2", [0.0, -1.0], math.pi, SOURCE, close=True),
    Example("ATAN2", [-0.0, -1.0], -math.pi, JAVA, close=True),
    Example("PI", [], math.pi, DOCS),
    Example("E", [], math.e, DOCS),
]


@corpus("example", EXAMPLES, 74)
def test_example(example: Example) -> None:
    example.check()


@given(st.sampled_from(["SIN", "COS", "ATAN", "TANH"]), st.floats(-1e6, 1e6))
def test_functions_of_any_number_are_those_of_python(name: str, value: float) -> None:
    Example(name, [value], FUNCTIONS[name](value), PYTHON, close=True).check()
