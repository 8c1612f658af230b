"""What a driver does without: values of numpy are found all the same, and who makes functions for pandas is told."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from pyspark.sql import SparkSession, types

from millrace.spark.sessions.session import look_without_imports

ASKS = """
import sys
from pyspark.sql import types
from millrace.spark.sessions.session import look_without_imports, on_batches
look_without_imports()
asked = [types.NumpyScalarConverter(), types.NumpyArrayConverter()]
print([each.can_convert("text") for each in asked])
from pyspark.sql.pandas import functions
with on_batches():
    functions.require_minimum_pandas_version()
print({"pandas", "pyspark.testing"} & set(sys.modules))
functions.require_minimum_pandas_version()
print({"pandas"} & set(sys.modules))
"""


@pytest.mark.parametrize(
    ("value", "scalar", "array"),
    [
        (np.int64(3), True, False),
        (np.bool_(True), True, False),
        (np.array([1, 2]), False, True),
        (np.array([[1], [2]]), False, False),
        ("text", False, False),
        ([1, 2], False, False),
    ],
    ids=str,
)
def test_what_is_of_numpy(value: object, scalar: bool, array: bool) -> None:
    look_without_imports()
    found = types.NumpyScalarConverter().can_convert(value), types.NumpyArrayConverter().can_convert(value)
    assert found == (scalar, array)


def test_looking_imports_nothing() -> None:
    found = subprocess.run([sys.executable, "-c", ASKS], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["[False, False]", "set()", "{'pandas'}"]


def test_the_jvm_gets_them(spark: SparkSession) -> None:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    assert jvm.java.lang.Integer.toString(np.int32(7)) == "7"
    assert jvm.java.util.Arrays.toString(np.array([1, 2, 3])) == "[1, 2, 3]"
