"""The cause of what Spark raises, in one line with what to do about it."""

from __future__ import annotations

import pytest

from millrace.spark.errors import reason

TEXT = """An error occurred while calling o1.collect.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/spark/worker.py", line 1, in main
    import pyarrow
{error}

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)
Caused by: java.lang.Exception
"""


@pytest.mark.parametrize(
    ("error", "told", "advice"),
    [
        ("ModuleNotFoundError: No module named 'pyarrow'", "No module named 'pyarrow'; the Python of", "-pyreq"),
        (
            "pyspark.errors.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different version: "
            "3.12 than that in driver: 3.11, PySpark cannot run with different minor versions.\n"
            "Please check environment variables PYSPARK_PYTHON and PYSPARK_DRIVER_PYTHON are correctly set.",
            "different version: 3.12 than that in driver: 3.11",
            "set PYSPARK_PYTHON to",
        ),
        ("ValueError: first\nand second", "and second", ""),
    ],
)
def test_errors_of_python_workers(error: str, told: str, advice: str) -> None:
    found = reason(RuntimeError(TEXT.format(error=error)))
    assert told in found and advice in found and "\n" not in found and "scala" not in found
