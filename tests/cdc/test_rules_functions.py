"""Functions in Python that expressions of a pipeline call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cdc.running import run

from millrace.cdc.yaml_tree import PipelineError

MODULE = '''
from decimal import Decimal
from typing import Optional
from millrace.table.udf import ScalarFunction, udf


def plus(number) -> int:
    return number + 1


class Format:
    """Knows nothing of Millrace."""

    def open(self):
        self.mark = ">"

    def eval(self, number, text):
        return f"{self.mark}{text}{number}"

    def get_return_type(self):
        return "VARCHAR(20)"


class Half(ScalarFunction):
    def eval(self, number) -> "Optional[float]":
        return None if number is None else number / 2

    def close(self):
        pass


Half.eval.__annotations__["return"] = Optional[float]
wrapped = udf(lambda text: text[::-1], result_type="STRING")


def untyped(x):
    return x


class NoEval:
    pass
'''
PIPELINE = """
source:
  type: values
  events:
    - {table: a.t, create: {columns: {id: INT, name: STRING}, primary-key: [id]}}
    - {table: a.t, insert: [[1, ab], [8, cd]]}
sink: {type: values}
transform:
  - source-table: a.t
    projection: id, Plus(plus(id)) AS p, form(id, name) AS f, half(id) AS h, back(name) AS b
    filter: plus(id) < 9
pipeline:
  user-defined-function:
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: Any) -> str:
    (tmp_path / "pipeline_functions.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "pipeline_functions"


def test_functions_are_called(module: str) -> None:
    names = {"plus": "plus", "form": "Format", "half": "Half", "back": "wrapped"}
    listed = "".join(f"    - {{name: {name}, classpath: {module}.{found}}}\n" for name, found in names.items())
    printed = run(PIPELINE + listed).printed
    assert "`p` BIGINT,`f` VARCHAR(20),`h` DOUBLE,`b` STRING" in printed[0]
    assert "after=[1, 3, >ab1, 0.5, ba]" in printed[1] and len(printed) == 2


@pytest.mark.parametrize(
    ("classpath", "said"),
    [
        ("untyped", "does not know what it returns"),
        ("plos", "has no plos, did you mean 'plus'"),
        ("NoEval", "has no method eval"),
        ("MODULE_X", "has no MODULE_X"),
    ],
)
def test_functions_that_cannot_be(module: str, classpath: str, said: str) -> None:
    with pytest.raises(PipelineError, match=f"line 14: .*{said}"):
        run(f"{PIPELINE}    - {{name: f, classpath: {module}.{classpath}}}\n")


def test_a_module_that_is_not_there() -> None:
    with pytest.raises(PipelineError, match="no_such_module cannot be imported"):
        run(f"{PIPELINE}    - {{name: f, classpath: no_such_module.f}}\n")
