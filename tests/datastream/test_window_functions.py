"""Every kind of window function as a ``ProcessWindowFunction``."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.datastream.function_adapters import all_window_function, keyed_window_function
from millrace.datastream.functions import (
    AllWindowFunction,
    Function,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)

calls: list[Any] = []
CONTEXT: Any = SimpleNamespace(window=lambda: "window")


class Life:
    def open(self, runtime_context: Any) -> None:
        calls.append(("open", runtime_context))

    def close(self) -> None:
        calls.append("close")


class Apply(Life, WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Any:
        return ["apply", key, window, *inputs]


class Process(Life, ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        return ["process", key, context, *elements]

    def clear(self, context: Any) -> None:
        calls.append(("clear", context))


class ApplyAll(Life, AllWindowFunction):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Any:
        return ["apply all", window, *inputs]


class ProcessAll(Life, ProcessAllWindowFunction):
    def process(self, context: Any, elements: Iterable[Any]) -> Any:
        return ["process all", context, *elements]

    def clear(self, context: Any) -> None:
        calls.append(("clear", context))


@pytest.mark.parametrize(
    ("adapted", "expected", "clears"),
    [
        (keyed_window_function(Apply()), ["apply", "key", "window", 1, 2], False),
        (keyed_window_function(Process()), ["process", "key", CONTEXT, 1, 2], True),
        (all_window_function(ApplyAll()), ["apply all", "window", 1, 2], False),
        (all_window_function(ProcessAll()), ["process all", CONTEXT, 1, 2], True),
    ],
    ids=["apply", "process", "apply all", "process all"],
)
def test_calls_reach_the_function(adapted: Any, expected: list[Any], clears: bool) -> None:
    calls.clear()
    adapted.open("context")
    assert adapted.process("key", CONTEXT, [1, 2]) == expected
    adapted.clear(CONTEXT)
    adapted.close()
    cleared = [("clear", CONTEXT)] if clears else []
    assert calls == [("open", "context"), *cleared, "close"]


@pytest.mark.parametrize("of", [keyed_window_function, all_window_function])
def test_without_a_function_the_contents_are_the_result(of: Any) -> None:
    assert list(of(None).process("key", CONTEXT, (3,))) == [3]


def test_functions_that_change_nothing() -> None:
    keyed, everything = (
        keyed_window_function(PassThroughWindowFunction()),
        all_window_function(PassThroughAllWindowFunction()),
    )
    assert keyed is not None
    assert everything is not None
    assert list(keyed.process("key", CONTEXT, [1, 2])) == list(everything.process("key", CONTEXT, [1, 2])) == [1, 2]


@pytest.mark.parametrize("other", [ApplyAll(), ProcessAll(), Function(), Apply, len])
def test_a_keyed_stream_takes_no_other(other: Any) -> None:
    assert keyed_window_function(other) is None


@pytest.mark.parametrize("other", [Apply(), Process(), Function(), ApplyAll, len])
def test_a_stream_without_keys_takes_no_other(other: Any) -> None:
    assert all_window_function(other) is None
