"""The right definition is found for a function, also among several on one line."""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

import pytest

from millrace.lint.user_code import tree_of

SAME = [lambda x: x, lambda x: time.sleep(x), lambda x: x.sleep, lambda y: y, lambda x: (lambda x: x + 1)(x)]


def twice(function: Callable[[], Any]) -> Callable[[], Any]:
    return function


@twice
@twice
def decorated(x: int = 1) -> int:
    return x


def maker(z: int) -> list[Callable[[Any], Any]]:
    return [lambda x: x + z, lambda x: [x * y for y in (1, z)]]


def text(function: Any) -> str:
    tree = tree_of(cast(FunctionType, function))
    assert tree is not None
    return ast.unparse(tree)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code knows its columns since then")
@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        *zip(SAME, ["lambda x: x", "lambda x: time.sleep(x)", "lambda x: x.sleep", "lambda y: y",
                    "lambda x: (lambda x: x + 1)(x)"]),
        *zip(maker(1), ["lambda x: x + z", "lambda x: [x * y for y in (1, z)]"]),
    ],
)  # fmt: skip
def test_lambdas_on_one_line(function: Any, wanted: str) -> None:
    assert text(function) == wanted


def test_a_decorated_function() -> None:
    assert text(decorated).endswith("def decorated(x: int=1) -> int:\n    return x")


def test_what_has_no_source() -> None:
    made = eval("lambda x: x")
    assert tree_of(made) is None
