"""``KeyedStream.interval_join``: what it adds to the program, what it refuses, whole programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.time import Duration, Time
from millrace.common.typeinfo import Types
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.datastream import (
    KeyedStream,
    OutputTag,
    ProcessJoinFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from millrace.datastream.joins import IntervalJoined
from millrace.graph.program import GraphError
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.runtime.operators import specs
from millrace.testing import run_locally

BATCH = RuntimeExecutionMode.BATCH


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        yield left, right, ctx.get_timestamp()


def keyed(env: StreamExecutionEnvironment, elements: list[Any], lag: int = 0, **key: Any) -> KeyedStream:
    """(key, time, ...) tuples with a watermark ``lag`` ms behind."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(lag))
    stamped = env.from_collection(elements).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(SecondField())
    )
    return stamped.set_parallelism(1).key_by(lambda value: value[0], **key)


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


@pytest.fixture
def left(env: StreamExecutionEnvironment) -> KeyedStream:
    return keyed(env, [("a", 1), ("b", 5)])


@pytest.fixture
def right(env: StreamExecutionEnvironment) -> KeyedStream:
    return keyed(env, [("a", 2), ("b", 4)])


def ms(lower: int, upper: int) -> tuple[Time, Time]:
    return Time.milliseconds(lower), Time.milliseconds(upper)


def spec_of(joined: IntervalJoined) -> specs.Spec:
    return joined.process(Pairs())._node("test").spec


EXCLUSIVE: list[tuple[Callable[[IntervalJoined], IntervalJoined], tuple[int, int]]] = [
    (lambda joined: joined, (-2, 5)),
    (lambda joined: joined.lower_bound_exclusive(), (-1, 5)),
    (lambda joined: joined.upper_bound_exclusive(), (-2, 4)),
    (lambda joined: joined.lower_bound_exclusive().upper_bound_exclusive(), (-1, 4)),
]


@pytest.mark.parametrize(("change", "bounds"), EXCLUSIVE, ids=["none", "lower", "upper", "both"])
def test_exclusive_bounds(left: KeyedStream, right: KeyedStream, change: Any, bounds: tuple[int, int]) -> None:
    joined = left.interval_join(right).in_event_time().between(*ms(-2, 5))
    assert change(joined) is joined
    spec = spec_of(joined)
    assert isinstance(spec, specs.IntervalJoin)
    assert (spec.lower, spec.upper, spec.left_late_tag, spec.right_late_tag) == (*bounds, None, None)


def test_the_operator(left: KeyedStream, right: KeyedStream) -> None:
    tags = OutputTag("left", Types.PICKLED_BYTE_ARRAY()), OutputTag("right", Types.STRING())
    joined = left.interval_join(right).between(Duration.of_seconds(-1), Time.seconds(1))
    joined.side_output_left_late_data(tags[0]).side_output_right_late_data(tags[1])
    stream = joined.process(Pairs(), Types.PICKLED_BYTE_ARRAY())
    node = stream._node("test")
    assert node.name == "Interval Join"
    assert node.output_type == Types.PICKLED_BYTE_ARRAY()
    assert [edge.input for edge in node.edges] == [0, 1]
    assert node.side_types == {"left": Types.PICKLED_BYTE_ARRAY(), "right": Types.STRING()}
    assert isinstance(node.spec, specs.IntervalJoin)
    assert (node.spec.lower, node.spec.upper) == (-1000, 1000)
    assert (node.spec.left_late_tag, node.spec.right_late_tag) == ("left", "right")


def other_environment() -> KeyedStream:
    return keyed(StreamExecutionEnvironment.get_execution_environment(), [("a", 1)])


REFUSED: dict[str, tuple[Callable[[KeyedStream, KeyedStream], Any], type[Exception], str]] = {
    "no keys": (
        lambda left, right: left.interval_join(right.map(abs)),  # type: ignore[arg-type]
        TypeError,
        "interval_join() at {} takes a KeyedStream, not DataStream",
    ),
    "environments": (
        lambda left, right: left.interval_join(other_environment()),
        GraphError,
        "interval_join() at {}: the streams belong to different environments: make all streams of a job with the same "
        "one",
    ),
    "key types": (
        lambda left, right: left.key_by(max, Types.STRING()).interval_join(right.key_by(max, Types.INT())),
        GraphError,
        "interval_join() at {}: the keys of both sides have different types: String, Integer",
    ),
    "processing time": (
        lambda left, right: left.interval_join(right).in_processing_time(),
        GraphError,
        "in_processing_time() at {}: an interval join goes by event time only; nearest: connect() and a "
        "KeyedCoProcessFunction with processing-time timers",
    ),
    "bounds": (
        lambda left, right: left.interval_join(right).between(*ms(2, 1)),
        GraphError,
        "between() at {}: the lower bound (2 ms) is above the upper bound (1 ms)",
    ),
    "no span of time": (
        lambda left, right: left.interval_join(right).between(1, Time.seconds(1)),  # type: ignore[arg-type]
        TypeError,
        "between() at {}: expected a Duration, a Time or a datetime.timedelta, got int 1",
    ),
    "nothing between": (
        lambda left, right: (
            left.interval_join(right)
            .between(*ms(1, 2))
            .lower_bound_exclusive()
            .upper_bound_exclusive()
            .process(Pairs())
        ),
        GraphError,
        "process() at {}: with exclusive bounds nothing lies between 1 ms and 2 ms",
    ),
    "a function": (
        lambda left, right: left.interval_join(right).between(*ms(1, 2)).process(max),  # type: ignore[arg-type]
        TypeError,
        "process() of an interval join at {} takes a ProcessJoinFunction, not builtin_function_or_method",
    ),
    "a class": (
        lambda left, right: left.interval_join(right).between(*ms(1, 2)).process(Pairs),  # type: ignore[arg-type]
        TypeError,
        "process() of an interval join at {} takes a ProcessJoinFunction, not the class Pairs: did you mean Pairs()?",
    ),
    "no tag": (
        lambda left, right: (
            left.interval_join(right).between(*ms(1, 2)).side_output_left_late_data("late")  # type: ignore[arg-type]
        ),
        TypeError,
        "side_output_left_late_data() at {} takes an OutputTag, not str",
    ),
    "no tag for the right": (
        lambda left, right: (
            left.interval_join(right).between(*ms(1, 2)).side_output_right_late_data("late")  # type: ignore[arg-type]
        ),
        TypeError,
        "side_output_right_late_data() at {} takes an OutputTag, not str",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(left: KeyedStream, right: KeyedStream, case: str) -> None:
    call, kind, text = REFUSED[case]
    with pytest.raises(kind) as caught:
        call(left, right)
    before, _, after = text.partition("{}")
    found = str(caught.value)
    assert found.startswith(before) and found.endswith(after), found
    place = found[len(before) : len(found) - len(after)]
    assert place.rpartition(":")[0] == __file__


def test_equal_types_of_keys_are_fine(env: StreamExecutionEnvironment, right: KeyedStream) -> None:
    typed = keyed(env, [("a", 1)], key_type=Types.STRING())
    other = keyed(env, [("a", 1)], key_type=Types.STRING())
    for partner in (other, right):
        spec_of(typed.interval_join(partner).between(*ms(0, 0)))


# -- whole programs -----------------------------------------------------------------------------------------------

SIDE = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 20)), max_size=8)


def nested_loop(left: list[Any], right: list[Any], lower: int, upper: int) -> list[Any]:
    return [
        (one, other, max(one[1], other[1]))
        for one in left
        for other in right
        if one[0] == other[0] and lower <= other[1] - one[1] <= upper
    ]


@given(
    SIDE, SIDE, st.integers(-5, 5), st.integers(0, 5), st.integers(1, 3), st.sampled_from([None, 1, 2, 5]),
    st.booleans(),
)  # fmt: skip
def test_programs(
    left: list[Any], right: list[Any], lower: int, width: int, parallelism: int, epoch_records: int | None, batch: bool
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    if batch:
        env.set_runtime_mode(BATCH)
    joined = keyed(env, left, lag=20).interval_join(keyed(env, right, lag=20)).between(*ms(lower, lower + width))
    run = run_locally(joined.process(Pairs()), epoch_records=None if batch else epoch_records, workers=2, seed=3)
    assert Counter(run.collected) == Counter(nested_loop(left, right, lower, lower + width))


@given(SIDE, st.integers(-5, 5), st.integers(0, 5))
def test_a_stream_with_itself(elements: list[Any], lower: int, width: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    stream = keyed(env, elements, lag=20)
    joined = stream.interval_join(stream).between(*ms(lower, lower + width)).process(Pairs())
    assert Counter(run_locally(joined).collected) == Counter(nested_loop(elements, elements, lower, lower + width))


def test_late_elements_have_streams_of_their_own(env: StreamExecutionEnvironment) -> None:
    left = keyed(env, [("a", 10), ("a", 3), ("a", 11)])
    right = keyed(env, [("a", 10), ("a", 4), ("a", 12)])
    tags = OutputTag("left late"), OutputTag("right late")
    joined = left.interval_join(right).between(*ms(-9, 9))
    joined.side_output_left_late_data(tags[0]).side_output_right_late_data(tags[1])
    stream = joined.process(Pairs())
    labelled = [stream.map(lambda pair: ("main", *pair))]
    labelled += [stream.get_side_output(tag).map(lambda late, side=tag.tag_id: (side, *late)) for tag in tags]
    # One element of each side in an epoch, so that the watermark has passed the second ones.
    run = run_locally(labelled[0].union(*labelled[1:]), epoch_records=1)
    pairs = [((one, other), max(one, other)) for one in (10, 11) for other in (10, 12)]
    assert Counter(run.collected) == Counter(
        [("left late", "a", 3), ("right late", "a", 4)]
        + [("main", ("a", one), ("a", other), time) for (one, other), time in pairs]
    )


def test_elements_need_timestamps(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([("a", 1)]).key_by(lambda value: value[0])
    with pytest.raises(JobFailedError, match=r"(?s)Interval Join.*an interval join needs elements with timestamps"):
        run_locally(stream.interval_join(stream).between(*ms(0, 1)).process(Pairs()))
