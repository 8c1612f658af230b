"""Functions that give a generator where a value is taken, and those that give nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millrace.common import Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import FilterFunction, MapFunction, ReduceFunction


def twice(value: Any, *_: Any) -> Iterator[Any]:
    yield value
    yield value


class Yields(MapFunction, FilterFunction, ReduceFunction):
    map = filter = reduce = twice  # type: ignore[assignment]


def prints(value: Any) -> None:
    print(value)


def early(value: Any) -> Any:
    if value:
        return
    print(value)


def sometimes(value: Any) -> Any:
    if value:
        return [value]
    return None


def refuses(value: Any) -> Any:
    raise ValueError(value)


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


@pytest.mark.parametrize("function", [twice, Yields()], ids=["function", "object"])
@pytest.mark.parametrize("method", ["map", "filter", "reduce", "key_by"])
def test_a_function_that_yields_is_refused_where_one_value_is_taken(
    env: StreamExecutionEnvironment, method: str, function: Any
) -> None:
    if method == "key_by" and function is not twice:
        return  # not a selector of keys
    stream: Any = env.from_collection([1], Types.INT())
    stream = stream.key_by(lambda n: n) if method == "reduce" else stream
    with pytest.raises(TypeError, match=rf"{method}\(\).*test_function_checks.py:\d+.*yields: .*flat_map\(\)"):
        getattr(stream, method)(function)


def test_a_map_function_of_a_keyed_stream_is_refused_too(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(TypeError, match="yields"):
        env.from_collection([1]).key_by(lambda n: n).map(Yields())


@pytest.mark.parametrize("function", [prints, early], ids=["prints", "early"])
def test_a_flat_map_without_results_says_so(
    env: StreamExecutionEnvironment, caplog: pytest.LogCaptureFixture, function: Any
) -> None:
    env.from_collection([1]).flat_map(function)
    (message,) = caplog.messages
    assert "flat_map() at" in message and "there are 0 results" in message


@pytest.mark.parametrize("function", [twice, sometimes, refuses, str.split, lambda line: line.split()])
def test_a_flat_map_with_results_says_nothing(
    env: StreamExecutionEnvironment, caplog: pytest.LogCaptureFixture, function: Any
) -> None:
    env.from_collection(["1"]).flat_map(function)
    assert caplog.messages == []


def test_a_class_that_is_imported_from_the_package_itself() -> None:
    with pytest.raises(ImportError, match=r"from millrace.datastream import StreamExecutionEnvironment"):
        exec("from millrace import StreamExecutionEnvironment")
    with pytest.raises(ImportError, match=r"from millrace.table import TableEnvironment"):
        exec("from millrace import TableEnvironment")
    with pytest.raises(ImportError, match="cannot import name 'Nonsense'"):
        exec("from millrace import Nonsense")
