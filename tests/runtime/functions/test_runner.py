"""The life of functions: opened and closed once, and errors that say which."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.functions.running import runner

from millrace.runtime.failure import OperatorError
from millrace.table.udf import FunctionContext, ScalarFunction, udf


class Kept(ScalarFunction):
    """Writes down what happens to it. ``fails`` is the method that raises."""

    def __init__(self, name: str, diary: list[str], fails: str = "") -> None:
        self.name = name
        self.diary = diary
        self.fails = fails

    def _did(self, method: str) -> None:
        self.diary.append(f"{method} {self.name}")
        if self.fails == method:
            raise OSError(f"{self.name} is broken")

    def open(self, function_context: FunctionContext) -> None:
        self.context = function_context
        self._did("open")

    def close(self) -> None:
        self._did("close")

    def eval(self, *args: Any) -> Any:
        return self.name


def wrapped(function: Kept) -> Any:
    return udf(function, result_type="STRING", name=function.name)


def test_each_function_is_opened_and_closed_once() -> None:
    diary: list[str] = []
    a, b = wrapped(Kept("a", diary)), wrapped(Kept("b", diary))
    with runner(a, b, a) as functions:
        assert functions
        assert functions.of(b).eval() == "b"
    assert diary == ["open a", "open b", "close a", "close b"]


def test_without_functions() -> None:
    with runner() as functions:
        assert not functions


def test_what_open_is_told() -> None:
    kept = Kept("a", [])
    with runner(wrapped(kept), files={"model": "/m.bin"}):
        told: Any = kept.context
        assert told.get_job_parameter("color", "none") == "green"
        assert told.get_job_parameter("size", "none") == "none"
        assert told.get_cached_file("model") == "/m.bin"
        assert told.get_task_name() == "Calc"
        assert told.get_task_name_with_subtasks() == "Calc (2/3)"
        assert told.get_index_of_this_subtask() == 1
        assert told.get_number_of_parallel_subtasks() == 3
        assert told.get_max_number_of_parallel_subtasks() == 128
        assert told.get_attempt_number() == 0
        told.get_metric_group().counter("calls").inc()
        with pytest.raises(KeyError, match="no cached file 'other'"):
            told.get_cached_file("other")


def test_a_function_that_cannot_be_opened() -> None:
    diary: list[str] = []
    with pytest.raises(OperatorError) as failure, runner(wrapped(Kept("a", diary)), wrapped(Kept("b", diary, "open"))):
        raise AssertionError("it is not open")
    assert diary == ["open a", "open b", "close a"]
    assert "operator 'Calc' (subtask 2), made at job.py:7, failed in open() of b" in str(failure.value)
    assert "OSError: b is broken" in str(failure.value)


def test_all_are_closed_although_one_fails() -> None:
    diary: list[str] = []
    broken, other = wrapped(Kept("a", diary, "close")), wrapped(Kept("b", diary))
    with pytest.raises(OperatorError, match=r"in close\(\) of a"), runner(broken, other):
        pass
    assert diary[-2:] == ["close a", "close b"]


def test_metrics_can_be_off() -> None:
    kept = Kept("a", [])
    with (
        runner(wrapped(kept), **{"python.metric.enabled": "false"}),
        pytest.raises(RuntimeError, match=r"metrics are off"),
    ):
        kept.context.get_metric_group()
