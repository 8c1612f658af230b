"""``DataStream.co_group`` against lists of each key and window; late elements; evictors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.datastream.pairing import SIDE, WINDOWS, Element, groups, key_of, run, stamped

from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream import CoGroupFunction, DataStream, JoinFunction, OutputTag, StreamExecutionEnvironment
from millrace.datastream.joins import CoGroupWindows
from millrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    DynamicEventTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    TumblingEventTimeWindows,
)
from millrace.graph.program import GraphError
from millrace.runtime.operators import specs
from millrace.runtime.windows.choice import window_operator
from millrace.testing import Element as Arrives
from millrace.testing import EndInput, OperatorHarness, Record, Step, WatermarkStep, check_variants, run_locally

LATE = OutputTag("late", Types.TUPLE([Types.STRING(), Types.INT(), Types.INT()]))
TEN = TumblingEventTimeWindows.of(Time.milliseconds(10))


def both(first: Iterable[Any], second: Iterable[Any]) -> list[Any]:
    return [(tuple(first), tuple(second))]


class Both(CoGroupFunction):
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
        yield tuple(first), tuple(second)


def in_any_order(results: Iterable[Any]) -> list[Any]:
    """How the elements of several channels interleave is free."""
    return sorted((sorted(first), sorted(second), time) for (first, second), time in results)


@given(
    SIDE, SIDE, st.sampled_from(sorted(WINDOWS)), st.sampled_from([Both(), both]), st.integers(1, 3),
    st.sampled_from([None, 1, 3]), st.booleans(),
)  # fmt: skip
def test_both_groups_of_each_key_and_window(
    left: list[Element], right: list[Element], name: str, function: Any, parallelism: int, epoch_records: int | None,
    batch: bool,
) -> None:  # fmt: skip
    windows = WINDOWS[name]
    found = run(
        lambda env: (
            stamped(env, left).co_group(stamped(env, right))
            .where(key_of).equal_to(0).window(windows.assigner()).apply(function)
        ),
        parallelism, epoch_records, batch,
    )  # fmt: skip
    expected = [((first, second), end - 1) for first, second, end in groups(left, right, windows)]
    assert in_any_order(found) == in_any_order(expected)


def streams() -> tuple[DataStream, DataStream]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    return stamped(env, [("a", 1, 0)]), stamped(env, [("a", 2, 0)])


def grouped(assigner: Any = TEN) -> CoGroupWindows:
    left, right = streams()
    return left.co_group(right).where(key_of).equal_to(key_of).window(assigner)


def harness(windows: CoGroupWindows) -> OperatorHarness:
    """The window operator alone; what comes in is tagged already."""
    spec = windows.apply(Both())._node("test").spec
    assert isinstance(spec, specs.Window)
    operator = window_operator(spec.strategy, batch=False)
    return OperatorHarness(
        lambda: operator(spec.strategy, spec.function), key_selectors=[lambda tagged: tagged[1][0]], side_outputs=[LATE]
    )


def arriving(tag: int, time: int, number: int) -> Arrives:
    return Arrives((tag, ("a", time, number)), time)


SCRIPT: list[Step] = [
    arriving(1, 3, 0), arriving(2, 4, 0), WatermarkStep(12), arriving(2, 5, 1), arriving(1, 13, 1), WatermarkStep(15),
    arriving(1, 6, 2), arriving(2, 7, 2), EndInput(),
]  # fmt: skip
FIRST = (("a", 3, 0),), (("a", 4, 0),)
LAST = Record(((("a", 13, 1),), ()), 19)


def test_late_elements_are_counted() -> None:
    check_variants(lambda: harness(grouped()), SCRIPT, [FIRST, LAST.value])
    with harness(grouped()) as counting:
        for step in SCRIPT:
            if isinstance(step, Arrives):
                counting.process_element(*step)
            elif isinstance(step, WatermarkStep):
                counting.process_watermark(*step)
        assert counting.counter("numLateRecordsDropped") == 3


def test_late_elements_of_both_sides_go_to_a_side_output_as_they_came() -> None:
    check_variants(
        lambda: harness(grouped().side_output_late_data(LATE)),
        SCRIPT,
        [FIRST, LAST.value],
        sides={"late": [Record(("a", time, number), time) for time, number in [(5, 1), (6, 2), (7, 2)]]},
    )


def test_allowed_lateness() -> None:
    second = FIRST[0], (*FIRST[1], ("a", 5, 1))
    for lateness in (5, Time.milliseconds(5)):
        windows = grouped().allowed_lateness(lateness).side_output_late_data(LATE)
        check_variants(
            lambda windows=windows: harness(windows),  # type: ignore[misc]
            SCRIPT,
            [FIRST, second, LAST.value],
            sides={"late": [Record(("a", time, 2), time) for time in (6, 7)]},
        )


def test_late_elements_in_a_program() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    left = stamped(env, [("a", 3, 0), ("a", 13, 1), ("a", 4, 2)], lag=0)
    right = stamped(env, [("a", 5, 0), ("a", 14, 1), ("a", 6, 2)], lag=0)
    windows = left.co_group(right).where(0).equal_to(0).window(TEN).side_output_late_data(LATE)
    late = windows.apply(both).get_side_output(LATE)
    assert sorted(run_locally(late, epoch_records=1).collected) == [("a", 4, 2), ("a", 6, 2)]


def test_trigger_and_evictor_see_both_sides() -> None:
    windows = grouped().trigger(CountTrigger.of(2)).evictor(CountEvictor.of(3))
    script: list[Step] = [arriving(1, 1, 0), arriving(2, 2, 0), arriving(2, 3, 1), arriving(1, 4, 1), EndInput()]
    expected = [
        ((("a", 1, 0),), (("a", 2, 0),)),
        ((("a", 4, 1),), (("a", 2, 0), ("a", 3, 1))),
    ]
    check_variants(lambda: harness(windows), script, expected)


class GapOfSide(SessionWindowTimeGapExtractor):
    """Short gaps behind elements of the first stream, long ones behind those of the second."""

    def extract(self, element: Any) -> int:
        tag, (_, _, _) = element
        return 2 if tag == 1 else 10


def test_the_assigner_sees_tagged_elements() -> None:
    windows = grouped(DynamicEventTimeSessionWindows(GapOfSide()))
    script: list[Step] = [arriving(1, 0, 0), arriving(2, 5, 0), arriving(1, 14, 1), arriving(1, 20, 2), EndInput()]
    expected = [((("a", 0, 0),), ()), ((("a", 14, 1),), (("a", 5, 0),)), ((("a", 20, 2),), ())]
    check_variants(lambda: harness(windows), script, expected)


REFUSED: dict[str, tuple[Callable[[DataStream, DataStream], Any], type[Exception], str]] = {
    "no stream": (
        lambda left, right: left.co_group([1]),  # type: ignore[arg-type]
        TypeError,
        "co_group() at {} takes a DataStream, not list",
    ),
    "key types": (
        lambda left, right: left.co_group(right).where(0, Types.STRING()).equal_to(0, Types.INT()),
        GraphError,
        "equal_to() at {}: the keys of both sides have different types: String, Integer",
    ),
    "a function of joins": (
        lambda left, right: grouped().apply(Pair()),  # type: ignore[arg-type]
        TypeError,
        "apply() at {}: The input must be a CoGroupFunction or a callable function, not <Pair>",
    ),
}


class Pair(JoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        return first, second

    def __repr__(self) -> str:
        return "<Pair>"


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    call, kind, text = REFUSED[case]
    with pytest.raises(kind) as caught:
        call(*streams())
    before, _, after = text.partition("{}")
    found = str(caught.value)
    assert found.startswith(before) and found.endswith(after), found
    place = found[len(before) : len(found) - len(after)]
    assert place.rpartition(":")[0] == __file__
