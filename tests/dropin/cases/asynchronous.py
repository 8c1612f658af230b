"""Asynchronous functions."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyflink.common import Time, Types
from pyflink.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
from tests.dropin.checks import elements, raises


class Gives(AsyncFunction):
    """Gives always the same."""

    def __init__(self, what: Any) -> None:
        self.what = what

    async def async_invoke(self, value: Any) -> Any:
        return self.what


def _run(function: AsyncFunction) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream = env.from_collection([1], Types.INT())
    return elements(AsyncDataStream.unordered_wait(stream, function, Time.seconds(60), 2, Types.INT()))


def results_are_a_list() -> None:
    """What is no list is refused."""
    with raises(Py4JJavaError, "The result of AsyncFunction should be of list type"):
        _run(Gives(5))


def results_are_not_none() -> None:
    """None is refused, too."""
    with raises(Py4JJavaError, "The result of AsyncFunction cannot be none"):
        _run(Gives(None))
