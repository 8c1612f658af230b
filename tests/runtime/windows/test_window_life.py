"""The life of the functions of a window: when they are opened and closed, and what errors of theirs say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from tests.runtime.windows.windowing import Total, operators_for

from millrace.common.time import Time
from millrace.datastream.functions import AggregateFunction, ProcessWindowFunction, ReduceFunction, RuntimeContext
from millrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from millrace.runtime.failure import OperatorError

ms = Time.milliseconds
TUMBLING, SLIDING = TumblingEventTimeWindows.of(ms(10)), SlidingEventTimeWindows.of(ms(10), ms(5))
SESSIONS = EventTimeSessionWindows.with_gap(ms(5))


# -- functions that fold ------------------------------------------------------------------------------------------

life: list[str] = []


class Rich(AggregateFunction):
    """Knows its subtask, and leaves traces."""

    def open(self, runtime_context: RuntimeContext) -> None:
        life.append("open aggregate")
        self.factor = 10 + runtime_context.get_index_of_this_subtask()

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + self.factor * int(value[1])

    def get_result(self, accumulator: int) -> Any:
        return ("k", accumulator)

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b

    def close(self) -> None:
        life.append("close aggregate")


class RichReduce(ReduceFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        life.append("open reduce")
        self.factor = 10 + runtime_context.get_index_of_this_subtask()

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], value1[1] + self.factor * value2[1]

    def close(self) -> None:
        life.append("close reduce")


class Noted(ProcessWindowFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        life.append("open function")

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return elements

    def close(self) -> None:
        life.append("close function")


@pytest.mark.parametrize("assigner", [TUMBLING, SLIDING, SESSIONS], ids=repr)
@pytest.mark.parametrize(
    ("settings", "expected"), [({"aggregate": Rich()}, 30), ({"reduce": RichReduce()}, 21)], ids=["aggregate", "reduce"]
)
def test_functions_that_fold_are_opened_and_closed(assigner: Any, settings: dict[str, Any], expected: int) -> None:
    (kind,) = settings
    for make in operators_for(assigner, function=Noted(), **settings).values():
        life.clear()
        harness = make()
        with harness:
            harness.process_elements([(("k", 1), 1), (("k", 2), 2)])
            harness.end_input()
        assert set(harness.values) == {("k", expected)}
        assert life == [f"open {kind}", "open function", "close function", f"close {kind}"]
        harness.close()
        assert len(life) == 4, "once"


# -- errors -------------------------------------------------------------------------------------------------------


class Fails(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield "never seen"
        raise ValueError("in process")


class FailsToClear(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield key

    def clear(self, context: Any) -> None:
        raise ValueError("in clear")


class FailsToAdd(Total):
    def add(self, value: Any, accumulator: Any) -> Any:
        raise ValueError("in add")


class FailsToOpen(Total):
    def open(self, runtime_context: RuntimeContext) -> None:
        raise ValueError("in open")

    def close(self) -> None:
        raise AssertionError("was not opened")


@pytest.mark.parametrize("contents", [{}, {"aggregate": Total()}], ids=["process", "aggregate"])
@pytest.mark.parametrize("assigner", [TUMBLING, SESSIONS], ids=repr)
@pytest.mark.parametrize("lateness", [0, 5])
@pytest.mark.parametrize("function", [Fails(), FailsToClear()], ids=lambda function: type(function).__name__)
def test_errors_name_window_and_key(function: Any, lateness: int, assigner: Any, contents: dict[str, Any]) -> None:
    for make in operators_for(assigner, function=function, allowed_lateness=lateness, **contents).values():
        with make() as harness:
            harness.process_element(("my key", 1), 5)
            with pytest.raises(OperatorError) as error:
                harness.end_input()
            assert "'my key'" in str(error.value)
            assert f"TimeWindow(start={0 if assigner is TUMBLING else 5}, end=10)" in str(error.value)
            assert ("in process" if isinstance(function, Fails) else "in clear") in str(error.value)


@pytest.mark.parametrize("assigner", [TUMBLING, SLIDING, SESSIONS, TumblingProcessingTimeWindows.of(ms(5))], ids=repr)
def test_errors_name_the_element(assigner: Any) -> None:
    for make in operators_for(assigner, aggregate=FailsToAdd()).values():
        with make() as harness, pytest.raises(OperatorError, match=r"(?s)\('k', 12345\).*in add"):
            harness.process_elements([(("k", 12345), 1)])


@pytest.mark.parametrize("assigner", [TUMBLING, SESSIONS], ids=repr)
def test_errors_in_open(assigner: Any) -> None:
    for make in operators_for(assigner, aggregate=FailsToOpen()).values():
        harness = make()
        with pytest.raises(OperatorError, match=r"(?s)open\(\).*in open"):
            harness.open()
        harness.close()


def test_an_element_that_fires_late_is_named_in_errors() -> None:
    for make in operators_for(TUMBLING, function=Fails(), allowed_lateness=5).values():
        with make() as harness:
            harness.process_watermark(9)
            with pytest.raises(OperatorError, match=r"(?s)\('k', 1\).*in process"):
                harness.process_element(("k", 1), 5)
