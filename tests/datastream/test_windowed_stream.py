"""The handles of windows: PyFlink's methods, what they add to the program, what is refused, and what programs do."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from millrace.common.time import Duration, Time
from millrace.common.typeinfo import TypeInformation, Types
from millrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from millrace.datastream.data_stream import KeyedStream
from millrace.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    MapFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from millrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from millrace.datastream.windowed_stream import AllWindowedStream, WindowedStream
from millrace.graph.program import GraphError, Node
from millrace.runtime.operators import specs

ms = Time.milliseconds
TUMBLING, SESSIONS = TumblingEventTimeWindows.of(ms(10)), EventTimeSessionWindows.with_gap(ms(5))
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
LATE = OutputTag("late", PAIR)


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Apply(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return inputs


class Process(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return elements


class ApplyAll(AllWindowFunction):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return inputs


class ProcessAll(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return elements


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


@pytest.fixture
def pairs(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([("a", 1), ("b", 2)], PAIR)


@pytest.fixture
def keyed(pairs: DataStream) -> KeyedStream:
    return pairs.key_by(lambda value: value[0])


def node(stream: DataStream) -> Node:
    return stream._node("test")


def spec(stream: DataStream) -> specs.Window:
    found = node(stream).spec
    assert isinstance(found, specs.Window)
    return found


# -- the same methods as PyFlink ----------------------------------------------------------------------------------

_SIGNATURES = json.loads((Path(__file__).parents[1] / "data" / "pyflink-signatures.json").read_text("utf-8"))
MEMBERS = _SIGNATURES["modules"]["pyflink.datastream.data_stream"]["classes"]


@pytest.mark.parametrize("handle", [WindowedStream, AllWindowedStream])
def test_methods_and_parameters(handle: type) -> None:
    for name, (kind, *parameters) in MEMBERS[handle.__name__]["members"].items():
        assert kind == "method"
        ours = [
            parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default!r}"
            for parameter in list(inspect.signature(getattr(handle, name)).parameters.values())[1:]
        ]
        assert ours == parameters, name
    for name in ("evictor", "sum", "min", "max", "min_by", "max_by"):
        assert callable(getattr(handle, name)), "Java's, and additions"


# -- what is added to the program ---------------------------------------------------------------------------------


def test_settings_change_the_handle(keyed: KeyedStream) -> None:
    windows = keyed.window(TUMBLING)
    trigger, evictor = CountTrigger.of(2), CountEvictor.of(1)
    same = windows.trigger(trigger).evictor(evictor).allowed_lateness(5).side_output_late_data(LATE)
    assert same is windows
    strategy = spec(same.apply(Apply())).strategy
    assert (strategy.assigner, strategy.trigger, strategy.evictor) == (TUMBLING, trigger, evictor)
    assert (strategy.allowed_lateness, strategy.late_tag) == (5, "late")
    assert windows.get_execution_environment() is keyed.get_execution_environment()
    assert windows.get_input_type() == PAIR


@pytest.mark.parametrize("lateness", [1_500, Time.milliseconds(1_500), Duration.of_millis(1_500)])
def test_lateness_in_any_unit(keyed: KeyedStream, lateness: Any) -> None:
    assert spec(keyed.window(TUMBLING).allowed_lateness(lateness).sum(1)).strategy.allowed_lateness == 1_500


def test_the_default_trigger_is_the_assigners(keyed: KeyedStream) -> None:
    strategy = spec(keyed.window(TUMBLING).sum(1)).strategy
    assert type(strategy.trigger) is type(TUMBLING.get_default_trigger(None))


Use = Callable[[Any], DataStream]
RESULTS: dict[str, tuple[Use, TypeInformation | None]] = {
    "reduce keeps the type": (lambda w: w.reduce(max), PAIR),
    "reduce with a type": (lambda w: w.reduce(max, output_type=Types.LONG()), Types.LONG()),
    "reduce with a function": (lambda w: w.reduce(max, Apply()), None),
    "sum keeps the type": (lambda w: w.sum(1), PAIR),
    "max_by keeps the type": (lambda w: w.max_by(1), PAIR),
    "aggregate": (lambda w: w.aggregate(Count()), None),
    "aggregate with a type": (lambda w: w.aggregate(Count(), output_type=Types.LONG()), Types.LONG()),
    "process": (lambda w: w.process(Process()), None),
    "process with a type": (lambda w: w.process(Process(), Types.LONG()), Types.LONG()),
    "apply with a type": (lambda w: w.apply(Apply(), Types.LONG()), Types.LONG()),
}


@pytest.mark.parametrize("name", RESULTS)
def test_types_of_results(keyed: KeyedStream, name: str) -> None:
    use, expected = RESULTS[name]
    assert use(keyed.window(TUMBLING))._type == expected


def test_the_type_of_late_elements(keyed: KeyedStream) -> None:
    stream = keyed.window(TUMBLING).side_output_late_data(LATE).sum(1)
    assert stream.get_side_output(LATE).get_type() == PAIR
    with pytest.raises(GraphError, match="another type"):
        stream.get_side_output(OutputTag("late", Types.LONG()))


def test_names_uids_and_plan(env: StreamExecutionEnvironment, keyed: KeyedStream) -> None:
    windows = keyed.window(SESSIONS).trigger(CountTrigger.of(2)).evictor(CountEvictor.of(1))
    stream = windows.aggregate(Count(), Apply())
    assert node(stream).name == "EventTimeSessionWindows"
    stream.name("sessions").uid("my-sessions").print()
    keyed.count_window(5, 2).reduce(max).print()
    operators = {node["type"]: node for node in json.loads(env.get_execution_plan())["nodes"]}
    described = "Window(EventTimeSessionWindows(5), CountTrigger(2), CountEvictor(1), Count, Apply)"
    assert operators["sessions"]["contents"] == described
    assert operators["sessions"]["predecessors"][0]["ship_strategy"] == "HASH"
    assert operators["sessions"]["parallelism"] == 2
    described = "Window(CountSlidingWindowAssigner(5, 2), PurgingTrigger(CountTrigger(5)), max)"
    assert operators["CountSlidingWindowAssigner"]["contents"] == described
    assert {info.uid for info in env.job_graph().operators} >= {"my-sessions"}


def test_window_all_runs_in_one_subtask(env: StreamExecutionEnvironment, pairs: DataStream) -> None:
    stream = pairs.window_all(TUMBLING).process(ProcessAll())
    stream.print()
    (info,) = [info for info in env.job_graph().operators if info.name == "TumblingEventTimeWindows"]
    assert info.parallelism == 1
    with pytest.raises(GraphError, match="one subtask only"):
        stream.set_parallelism(2)


# -- what is refused ----------------------------------------------------------------------------------------------


class NotAWindowFunction(MapFunction):
    def map(self, value: Any) -> Any:
        return value


class Processing(ProcessingTimeSessionWindows[Any]):
    """Windows of the user's own."""


HERE = r"test_windowed_stream\.py:\d+"
REFUSED: dict[str, tuple[Use, type[Exception], str]] = {
    "process of a map function": (
        lambda w: w.process(NotAWindowFunction()),
        TypeError,
        rf"process\(\) at .*{HERE} takes a WindowFunction or a ProcessWindowFunction, not NotAWindowFunction",
    ),
    "a class in place of an object": (lambda w: w.process(Process), TypeError, r"not Process$"),
    "process of an all-function": (lambda w: w.process(ProcessAll()), TypeError, r"not ProcessAll$"),
    "apply of a lambda": (lambda w: w.apply(lambda key, window, inputs: inputs), TypeError, r"apply\(\).*not function"),
    "apply of nothing": (lambda w: w.apply(None), TypeError, r"apply\(\) at .*not None"),
    "reduce of nothing": (lambda w: w.reduce(None), TypeError, rf"reduce\(\) at .*{HERE}: .*ReduceFunction.*None"),
    "sum of no field": (lambda w: w.sum(1.5), TypeError, "position"),
    "reduce with a wrong function": (lambda w: w.reduce(max, max), TypeError, r"reduce\(\) at .*not max|not builtin"),
    "aggregate of a function": (lambda w: w.aggregate(max), TypeError, r"aggregate\(\).*AggregateFunction"),
    "no trigger": (lambda w: w.trigger(5), TypeError, r"trigger\(\).*Trigger"),
    "no evictor": (lambda w: w.evictor(5), TypeError, r"evictor\(\).*Evictor"),
    "no tag": (lambda w: w.side_output_late_data("late"), TypeError, r"side_output_late_data\(\).*OutputTag"),
    "negative lateness": (
        lambda w: w.allowed_lateness(-1),
        ValueError,
        rf"allowed_lateness\(\) at .*{HERE}: must be 0 ms or more, not -1",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_arguments(keyed: KeyedStream, name: str) -> None:
    use, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        use(keyed.window(TUMBLING))


def test_windows_without_keys_take_functions_without_keys(pairs: DataStream) -> None:
    message = r"process\(\) at .*takes an AllWindowFunction or a ProcessAllWindowFunction, not Process$"
    with pytest.raises(TypeError, match=message):
        pairs.window_all(TUMBLING).process(Process())  # type: ignore[arg-type]
    pairs.window_all(TUMBLING).reduce(max, ApplyAll())
    pairs.window_all(TUMBLING).apply(ApplyAll())


@pytest.mark.parametrize("start", [lambda stream: stream.window, lambda stream: stream.window_all])
def test_no_assigner(keyed: KeyedStream, start: Any) -> None:
    with pytest.raises(TypeError, match="WindowAssigner"):
        start(keyed)(10)


def test_sessions_need_triggers_that_merge(keyed: KeyedStream) -> None:
    message = rf"trigger\(\) at .*{HERE}: EventTimeSessionWindows merges windows, and DeltaTrigger can't be merged"
    with pytest.raises(TypeError, match=message):
        keyed.window(SESSIONS).trigger(DeltaTrigger.of(1, lambda old, new: 0))
    keyed.window(SESSIONS).trigger(CountTrigger.of(2))
    keyed.window(TUMBLING).trigger(DeltaTrigger.of(1, lambda old, new: 0))


@pytest.mark.parametrize(
    "assigner", [TumblingProcessingTimeWindows.of(ms(10)), GlobalWindows.create(), Processing.with_gap(ms(5))], ids=repr
)
def test_processing_time_has_no_late_elements(keyed: KeyedStream, assigner: Any) -> None:
    name = type(assigner).__name__
    message = rf"sum\(\) at .*{HERE}: {name} goes by processing time, where no element is late"
    with pytest.raises(GraphError, match=message):
        keyed.window(assigner).side_output_late_data(LATE).sum(1)
