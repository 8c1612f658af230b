"""``pyflink.testing.test_case_utils``: the base classes of PyFlink's tests of programs, on Millrace."""

from __future__ import annotations

import re
import shutil
import tempfile
import unittest
from typing import Any, ClassVar

from millrace.common import Configuration, JobExecutionResult
from millrace.datastream.execution_mode import RuntimeExecutionMode
from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from millrace.table.stream_environment import StreamTableEnvironment

__all__ = [
    "PyFlinkTestCase",
    "PyFlinkITTestCase",
    "PyFlinkUTTestCase",
    "PyFlinkStreamTableTestCase",
    "PyFlinkBatchTableTestCase",
    "PyFlinkStreamingTestCase",
    "PyFlinkBatchTestCase",
    "PythonAPICompletenessTestCase",
    "exec_insert_table",
    "invoke_java_object_method",
    "replace_uuid",
]

_UUID = re.compile(r"[a-z0-9]{8}(-[a-z0-9]{4}){3}-[a-z0-9]{12}")
_PARALLELISM = 2
_EVERY_CHANGE = "millrace.table.aggregate.every-change"
"""tests look at the changes of aggregates, of which Flink shows one for each row"""


def exec_insert_table(table: Any, table_path: str) -> JobExecutionResult:
    """Write a table and wait until it is written."""
    client = table.execute_insert(table_path).get_job_client()
    found = client.get_job_execution_result().result()
    assert isinstance(found, JobExecutionResult)
    return found


def _load_specific_flink_module_jars(jars_relative_path: str) -> None:
    """Does nothing: in PyFlink it loads the jars of a connector, and here connectors are parts of Millrace."""


def invoke_java_object_method(obj: Any, method_name: str) -> Any:
    """Call a method without arguments."""
    return getattr(obj, method_name)()


def replace_uuid(input_obj: Any) -> Any:
    """``{uuid}`` in place of each UUID of a text, or of the keys and values of a dict."""
    if isinstance(input_obj, str):
        return _UUID.sub("{uuid}", input_obj)
    if isinstance(input_obj, dict):
        return {replace_uuid(key): replace_uuid(value) for key, value in input_obj.items()}
    return None


class PyFlinkTestCase(unittest.TestCase):
    """A test with a folder of its own, ``tempdir``."""

    tempdir: ClassVar[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.tempdir = tempfile.mkdtemp()

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.tempdir, ignore_errors=True)

    @classmethod
    def assert_equals(cls, actual: Any, expected: list[Any]) -> None:
        """Check that two lists have the same elements, in any order. As in PyFlink, both lists are sorted in place."""
        found = actual if isinstance(actual, list) else cls.to_py_list(actual)
        found.sort()
        expected.sort()
        assert found == expected, f"{found} != {expected}"

    @classmethod
    def to_py_list(cls, actual: Any) -> list[Any]:
        return list(actual)


class PyFlinkITTestCase(PyFlinkTestCase):
    """Tests that share an environment, ``env``."""

    env: ClassVar[StreamExecutionEnvironment]
    mode: ClassVar[RuntimeExecutionMode] = RuntimeExecutionMode.STREAMING

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.env = _environment(cls.mode)


class PyFlinkUTTestCase(PyFlinkTestCase):
    """Tests with environments of their own, ``env`` and ``t_env``."""

    def setUp(self) -> None:
        self.env = _environment(RuntimeExecutionMode.STREAMING)
        self.t_env = _tables(self.env)


class PyFlinkStreamTableTestCase(PyFlinkITTestCase):
    """Tests of tables as streams."""

    t_env: ClassVar[StreamTableEnvironment]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.t_env = _tables(cls.env)


class PyFlinkBatchTableTestCase(PyFlinkStreamTableTestCase):
    """Tests of tables in batch mode."""

    mode = RuntimeExecutionMode.BATCH


class PyFlinkStreamingTestCase(PyFlinkITTestCase):
    """Tests of streams."""


class PyFlinkBatchTestCase(PyFlinkITTestCase):
    """Tests of streams in batch mode."""

    mode = RuntimeExecutionMode.BATCH


class PythonAPICompletenessTestCase:
    """Tests whether a class of Python has the methods of one of Java, which is not here: they are skipped."""

    @classmethod
    def java_method_name(cls, python_method_name: str) -> str:
        return python_method_name

    @classmethod
    def excluded_methods(cls) -> set[str]:
        return {"equals", "hashCode", "toString"}

    @classmethod
    def ignore_decorators(cls) -> bool:
        return False

    @classmethod
    def java_class(cls) -> str:
        raise NotImplementedError("a subclass names the class of Java")

    def test_completeness(self) -> None:
        raise unittest.SkipTest(f"needs the methods of {self.java_class()}, and there is no JVM")


def _environment(mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration().set_string(_EVERY_CHANGE, "true"))
    env.set_parallelism(_PARALLELISM)
    env.set_runtime_mode(mode)
    return env


def _tables(env: StreamExecutionEnvironment) -> StreamTableEnvironment:
    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set("python.fn-execution.bundle.size", "1")
    return t_env
