"""The cause of what Spark raises, in one line with what to do about it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from millrace.spark.errors import launcher_said, reason

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


@pytest.mark.parametrize(
    ("causes", "told"),
    [
        (["java.io.IOException: disk full", "org.apache.spark.SparkException:;"], "java.io.IOException: disk full"),
        (["java.io.IOException: disk full", "java.lang.Exception"], "java.io.IOException: disk full"),
        (["java.io.IOException: one", "java.io.IOException: two"], "java.io.IOException: two"),
        (["org.apache.spark.SparkException: "], "java.lang.RuntimeException: outer"),
    ],
)
def test_a_cause_is_never_a_class_alone(causes: list[str], told: str) -> None:
    text = "An error occurred while calling o1.x.\n: java.lang.RuntimeException: outer\n\tat a.b(C.scala:1)\n"
    assert reason(RuntimeError(text + "".join(f"Caused by: {each}\n\tat a.b(C.scala:1)\n" for each in causes))) == told


def test_an_error_of_java_without_any_message() -> None:
    assert reason(RuntimeError("java.lang.NullPointerException")) == "java.lang.NullPointerException"


LAUNCHER = """\
WARNING: Using incubator modules: jdk.incubator.vector
Exception in thread "main" org.apache.spark.SparkException: When running with master 'yarn' either HADOOP_CONF_DIR or \
YARN_CONF_DIR must be set in the environment.
\tat org.apache.spark.deploy.SparkSubmitArguments.error(SparkSubmitArguments.scala:1)
"""


def test_what_the_launcher_said() -> None:
    assert launcher_said(LAUNCHER) == (
        "org.apache.spark.SparkException: When running with master 'yarn' either HADOOP_CONF_DIR or YARN_CONF_DIR must "
        "be set in the environment."
    )
    assert launcher_said("line\nError: Could not find or load main class x\nmore") == (
        "Error: Could not find or load main class x"
    )
    assert launcher_said("") == ""


def test_spark_on_yarn_without_its_configuration_names_the_variable() -> None:
    program = (
        "from millrace.spark.sessions.session import make_session, SessionWishes\n"
        "make_session(SessionWishes(1, {'millrace.master': 'yarn'}))"
    )
    environment = {key: text for key, text in os.environ.items() if key not in ("HADOOP_CONF_DIR", "YARN_CONF_DIR")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120)
    last = done.stderr.rpartition("SparkNotStartedError: ")[2]
    assert last.startswith("Spark did not start: "), done.stderr
    assert "HADOOP_CONF_DIR" in last and "env.hadoop.conf.dir" in last
