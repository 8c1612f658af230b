"""``DataStream.join`` against a nested loop over each key and window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.datastream.pairing import SIDE, WINDOWS, Element, groups, key_of, run, stamped

from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream import (
    DataStream,
    FlatJoinFunction,
    JoinFunction,
    KeySelector,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.window import CountTrigger, PurgingTrigger, TumblingEventTimeWindows
from millrace.graph.program import GraphError
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.runtime.operators import specs
from millrace.testing import run_locally

FIVE = TumblingEventTimeWindows.of(Time.milliseconds(5))


def pair(first: Any, second: Any) -> Any:
    return first, second


class Key(KeySelector):
    def get_key(self, value: Element) -> str:
        return value[0]


class Pair(JoinFunction):
    """Counts the pairs of each key, too."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def join(self, first: Any, second: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        return first, second


class Twice(FlatJoinFunction):
    """Two results for most pairs, none for some."""

    def join(self, first: Any, second: Any) -> Iterator[Any] | None:
        return None if first[2] == second[2] else self.results(first, second)

    def results(self, first: Any, second: Any) -> Iterator[Any]:
        yield first, second
        yield second, first


FUNCTIONS: dict[str, tuple[Callable[[], Any], Callable[[Any, Any], list[Any]]]] = {
    "callable": (lambda: pair, lambda one, other: [(one, other)]),
    "JoinFunction": (Pair, lambda one, other: [(one, other)]),
    "FlatJoinFunction": (Twice, lambda one, other: [] if one[2] == other[2] else [(one, other), (other, one)]),
}


@given(
    SIDE, SIDE, st.sampled_from(sorted(WINDOWS)), st.sampled_from(sorted(FUNCTIONS)), st.integers(1, 3),
    st.sampled_from([None, 1, 3]), st.booleans(),
)  # fmt: skip
def test_inner_join_of_each_key_and_window(
    left: list[Element], right: list[Element], name: str, function: str, parallelism: int, epoch_records: int | None,
    batch: bool,
) -> None:  # fmt: skip
    windows = WINDOWS[name]
    make, results_of = FUNCTIONS[function]
    expected = [
        (result, end - 1)
        for first, second, end in groups(left, right, windows)
        for one in first
        for other in second
        for result in results_of(one, other)
    ]
    found = run(
        lambda env: (
            stamped(env, left).join(stamped(env, right))
            .where(key_of).equal_to(Key()).window(windows.assigner()).apply(make())
        ),
        parallelism, epoch_records, batch,
    )  # fmt: skip
    assert Counter(found) == Counter(expected)


def test_the_first_stream_is_the_outer_loop() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    left = stamped(env, [("a", 1, 0), ("a", 3, 1)])
    right = stamped(env, [("a", 2, 0), ("a", 0, 1)])
    found = run_locally(left.join(right).where(0).equal_to(0).window(FIVE).apply(lambda a, b: (a[1], b[1]))).collected
    assert found == [(1, 2), (1, 0), (3, 2), (3, 0)]


def test_a_stream_with_itself_and_a_keyed_one() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    keyed = stamped(env, [("a", 1, 0), ("a", 2, 1), ("b", 7, 2)]).key_by(lambda value: value[2])
    found = run_locally(keyed.join(keyed).where(0).equal_to(0).window(FIVE).apply(lambda a, b: (a[2], b[2]))).collected
    assert sorted(found) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2)]


def test_a_trigger_may_fire_earlier() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    left = stamped(env, [("a", 1, 0), ("a", 2, 1)])
    right = stamped(env, [("a", 3, 0), ("a", 4, 1)])
    windows = left.join(right).where(0).equal_to(0).window(FIVE)
    assert windows.trigger(PurgingTrigger.of(CountTrigger.of(3))) is windows
    found = run_locally(windows.apply(lambda a, b: (a[1], b[1]))).collected
    # Both of the left and one of the right; what follows the purge never gets to three.
    assert found == [(1, 3), (2, 3)]


@pytest.fixture
def streams() -> tuple[DataStream, DataStream]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    return stamped(env, [("a", 1, 0)]), stamped(env, [("a", 2, 0)])


def test_the_operator(streams: tuple[DataStream, DataStream]) -> None:
    left, right = streams
    windows = left.join(right).where(key_of, Types.STRING()).equal_to(key_of, Types.STRING()).window(FIVE)
    stream = windows.apply(pair, Types.PICKLED_BYTE_ARRAY())
    node = stream._node("test")
    assert node.name == "TumblingEventTimeWindows"
    assert node.output_type == Types.PICKLED_BYTE_ARRAY()
    assert isinstance(node.spec, specs.Window)
    assert node.spec.strategy.assigner is FIVE
    assert [edge.source for edge in node.edges] == [s._node("test").id for s in streams]


def other_environment() -> DataStream:
    return stamped(StreamExecutionEnvironment.get_execution_environment(), [("a", 1, 0)])


REFUSED: dict[str, tuple[Callable[[DataStream, DataStream], Any], type[Exception], str]] = {
    "no stream": (
        lambda left, right: left.join([1]),  # type: ignore[arg-type]
        TypeError,
        "join() at {} takes a DataStream, not list",
    ),
    "environments": (
        lambda left, right: left.join(other_environment()),
        GraphError,
        "join() at {}: the streams belong to different environments: make all streams of a job with the same one",
    ),
    "where": (
        lambda left, right: left.join(right).where(None),  # type: ignore[arg-type]
        TypeError,
        "where() at {}: The input must be a KeySelector or a callable function, not None",
    ),
    "equal_to": (
        lambda left, right: left.join(right).where(0).equal_to(Key),
        TypeError,
        "equal_to() at {}: The input must be a KeySelector or a callable function, not the class Key: "
        "did you mean Key()?",
    ),
    "key types": (
        lambda left, right: left.join(right).where(0, Types.STRING()).equal_to(0, Types.INT()),
        GraphError,
        "equal_to() at {}: the keys of both sides have different types: String, Integer",
    ),
    "windows": (
        lambda left, right: left.join(right).where(0).equal_to(0).window(Time.seconds(5)),  # type: ignore[arg-type]
        TypeError,
        "window() at {} takes a WindowAssigner, not Time",
    ),
    "a class": (
        lambda left, right: left.join(right).where(0).equal_to(0).window(FIVE).apply(Twice),
        TypeError,
        "apply() at {}: The input must be a FlatJoinFunction or a callable function, not the class Twice: "
        "did you mean Twice()?",
    ),
    "no function": (
        lambda left, right: left.join(right).where(0).equal_to(0).window(FIVE).apply(None),  # type: ignore[arg-type]
        TypeError,
        "apply() at {}: The input must be a JoinFunction or a callable function, not None",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(streams: tuple[DataStream, DataStream], case: str) -> None:
    call, kind, text = REFUSED[case]
    with pytest.raises(kind) as caught:
        call(*streams)
    before, _, after = text.partition("{}")
    found = str(caught.value)
    assert found.startswith(before) and found.endswith(after), found
    place = found[len(before) : len(found) - len(after)]
    assert place.rpartition(":")[0] == __file__


@pytest.mark.parametrize("side", ["where", "equal_to"])
def test_a_key_selector_that_fails_names_its_place(streams: tuple[DataStream, DataStream], side: str) -> None:
    left, right = streams
    good, bad = (0, 7) if side == "equal_to" else (7, 0)
    stream = left.join(right).where(good).equal_to(bad).window(FIVE).apply(pair)
    with pytest.raises(JobFailedError, match=rf"(?s){side}\(\) at .*test_joined_streams.py.*IndexError"):
        run_locally(stream)
