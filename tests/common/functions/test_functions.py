"""The function base classes: PyFlink's names, abstract methods and nested contexts."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle
import pytest

from millrace.datastream import functions
from millrace.datastream.functions import (
    AsyncFunction,
    AsyncFunctionDescriptor,
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    CoProcessFunction,
    Function,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStateStore,
    MapFunction,
    NullByteKeySelector,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    SinkFunction,
    SourceFunction,
)

# The __all__ of PyFlink 2.3.0's module.
PYFLINK = """RuntimeContext MapFunction CoMapFunction FlatMapFunction CoFlatMapFunction ReduceFunction AggregateFunction
    KeySelector FilterFunction Partitioner SourceFunction SinkFunction ProcessFunction CoProcessFunction
    KeyedProcessFunction KeyedCoProcessFunction TimerService WindowFunction AllWindowFunction ProcessWindowFunction
    ProcessAllWindowFunction BaseBroadcastProcessFunction BroadcastProcessFunction KeyedBroadcastProcessFunction
    AsyncFunction AsyncFunctionDescriptor AsyncRetryPredicate AsyncRetryStrategy"""

ABSTRACT = {
    "MapFunction": {"map"},
    "CoMapFunction": {"map1", "map2"},
    "FlatMapFunction": {"flat_map"},
    "CoFlatMapFunction": {"flat_map1", "flat_map2"},
    "ReduceFunction": {"reduce"},
    "AggregateFunction": {"create_accumulator", "add", "get_result", "merge"},
    "KeySelector": {"get_key"},
    "FilterFunction": {"filter"},
    "Partitioner": {"partition"},
    "ProcessFunction": {"process_element"},
    "KeyedProcessFunction": {"process_element"},
    "CoProcessFunction": {"process_element1", "process_element2"},
    "KeyedCoProcessFunction": {"process_element1", "process_element2"},
    "JoinFunction": {"join"},
    "FlatJoinFunction": {"join"},
    "CoGroupFunction": {"co_group"},
    "ProcessJoinFunction": {"process_element"},
    "WindowFunction": {"apply"},
    "AllWindowFunction": {"apply"},
    "ProcessWindowFunction": {"process"},
    "ProcessAllWindowFunction": {"process"},
    "BroadcastProcessFunction": {"process_element", "process_broadcast_element"},
    "KeyedBroadcastProcessFunction": {"process_element", "process_broadcast_element"},
    "AsyncFunction": {"async_invoke"},
    "SourceFunction": {"run"},
    "SinkFunction": {"invoke"},
}
CONTEXTS: list[tuple[type, set[str]]] = [
    (KeyedStateStore, set()),
    (
        RuntimeContext,
        {
            "get_task_name",
            "get_task_name_with_subtasks",
            "get_number_of_parallel_subtasks",
            "get_max_number_of_parallel_subtasks",
            "get_index_of_this_subtask",
            "get_attempt_number",
            "get_job_parameter",
            "get_metrics_group",
            "get_job_info",
            "get_global_job_parameters",
            "get_distributed_cache",
            "get_global_aggregate_manager",
            "add_accumulator",
            "get_accumulator",
            "get_int_counter",
            "get_long_counter",
            "get_double_counter",
            "get_histogram",
        },
    ),
    (ProcessFunction.Context, {"timer_service", "timestamp"}),
    (CoProcessFunction.Context, {"timer_service", "timestamp"}),
    (KeyedProcessFunction.Context, {"timer_service", "timestamp", "get_current_key"}),
    (KeyedProcessFunction.OnTimerContext, {"timer_service", "timestamp", "get_current_key", "time_domain"}),
    (KeyedCoProcessFunction.Context, {"timer_service", "timestamp", "get_current_key"}),
    (KeyedCoProcessFunction.OnTimerContext, {"timer_service", "timestamp", "get_current_key", "time_domain"}),
    (
        ProcessWindowFunction.Context,
        {"window", "current_processing_time", "current_watermark", "window_state", "global_state"},
    ),
    (ProcessAllWindowFunction.Context, {"window", "window_state", "global_state"}),
    (
        BaseBroadcastProcessFunction.Context,
        {"timestamp", "current_processing_time", "current_watermark", "get_broadcast_state"},
    ),
    (
        KeyedBroadcastProcessFunction.Context,
        {
            "timestamp",
            "current_processing_time",
            "current_watermark",
            "get_broadcast_state",
            "apply_to_keyed_state",
        },
    ),
    (
        KeyedBroadcastProcessFunction.OnTimerContext,
        {
            "timestamp",
            "current_processing_time",
            "current_watermark",
            "get_broadcast_state",
            "timer_service",
            "get_current_key",
            "time_domain",
        },
    ),
]


def abstract(cls: type) -> set[str]:
    return set(getattr(cls, "__abstractmethods__", ()))


def test_all_of_pyflinks_names_are_exported() -> None:
    assert set(PYFLINK.split()) <= set(functions.__all__)
    assert all(hasattr(functions, name) for name in functions.__all__)


@pytest.mark.parametrize("name", ABSTRACT)
def test_what_a_user_has_to_write(name: str) -> None:
    cls = getattr(functions, name)
    assert issubclass(cls, Function)
    assert abstract(cls) == ABSTRACT[name]
    with pytest.raises(TypeError, match="abstract"):
        cls()


@pytest.mark.parametrize(("context", "methods"), CONTEXTS, ids=lambda value: getattr(value, "__qualname__", ""))
def test_what_the_runtime_has_to_write(context: type, methods: set[str]) -> None:
    assert abstract(context) == methods


@pytest.mark.parametrize("kind", ["state", "list_state", "map_state", "reducing_state", "aggregating_state"])
def test_every_method_of_keyed_state_asks_for_its_descriptor(kind: str) -> None:
    class Store(KeyedStateStore):
        def get_any(self, state_descriptor: Any) -> Any:
            return f"the state of {state_descriptor}"

    assert getattr(Store(), f"get_{kind}")("d") == "the state of d"
    with pytest.raises(NotImplementedError, match="no keyed state"):
        getattr(KeyedStateStore(), f"get_{kind}")("d")


def test_contexts_of_timers_are_contexts_of_elements() -> None:
    assert issubclass(KeyedProcessFunction.OnTimerContext, KeyedProcessFunction.Context)
    assert issubclass(KeyedBroadcastProcessFunction.OnTimerContext, KeyedBroadcastProcessFunction.ReadOnlyContext)
    assert issubclass(BroadcastProcessFunction.Context, BaseBroadcastProcessFunction.Context)


def test_a_function_without_hooks_can_be_opened_closed_and_has_no_timers() -> None:
    class Process(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            yield value

    function = cloudpickle.loads(cloudpickle.dumps(Process()))
    context: Any = None
    function.open(context)
    assert list(function.process_element(1, context)) == [1]
    assert function.on_timer(0, context) is None
    function.close()


def test_generic_functions_take_their_types() -> None:
    class Sum(ProcessWindowFunction[int, int, str, Any]):
        def process(self, key: str, context: Any, elements: Any) -> list[int]:
            return [sum(elements)]

    assert Sum().process("k", None, [1, 2]) == [3]


def test_pass_through() -> None:
    assert list(PassThroughWindowFunction[int, str, Any]().apply("k", None, [1, 2])) == [1, 2]
    assert list(PassThroughAllWindowFunction[int, Any]().apply(None, [1, 2])) == [1, 2]
    assert {NullByteKeySelector().get_key(value) for value in (1, "a", None)} == {0}


def test_async_timeout_fails_by_default() -> None:
    class Lookup(AsyncFunction[int, int]):
        async def async_invoke(self, value: int) -> list[int]:
            return [value]

    with pytest.raises(TimeoutError, match="timed out for input: 7"):
        Lookup().timeout(7)
    descriptor = AsyncFunctionDescriptor(Lookup(), None, 10, None, AsyncFunctionDescriptor.OutputMode.ORDERED)  # type: ignore[arg-type]
    assert (descriptor.capacity, descriptor.output_mode.value) == (10, 0)


class Numbers(SourceFunction[int]):
    def __init__(self, count: int) -> None:
        self.count = count

    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        for number in range(self.count):
            ctx.collect_with_timestamp(number, number * 10)
        ctx.emit_watermark(self.count * 10)


class Keep(SinkFunction[int]):
    def __init__(self) -> None:
        self.kept: list[int] = []

    def invoke(self, value: int, context: SinkFunction.Context) -> None:
        self.kept.append(value)


class Recorder(SourceFunction.SourceContext[int]):
    def __init__(self) -> None:
        self.events: list[Any] = []

    def collect(self, element: int) -> None:
        self.events.append(element)

    def collect_with_timestamp(self, element: int, timestamp: int) -> None:
        self.events.append((element, timestamp))

    def emit_watermark(self, timestamp: int) -> None:
        self.events.append(f"W{timestamp}")

    def mark_as_temporarily_idle(self) -> None:
        self.events.append("idle")


def test_a_source_in_python() -> None:
    source = pickle.loads(pickle.dumps(Numbers(2)))
    recorder = Recorder()
    source.run(recorder)
    source.cancel()
    assert recorder.events == [(0, 0), (1, 10), "W20"]


def test_a_sink_in_python() -> None:
    sink = pickle.loads(pickle.dumps(Keep()))
    context: Any = None
    sink.open(context)
    sink.invoke(1, context)
    sink.finish()
    sink.close()
    assert sink.kept == [1]


def test_java_classes_cannot_be_wrapped() -> None:
    with pytest.raises(TypeError, match=r"SourceFunction cannot wrap a Java class \('com.A'\).*implement run\(ctx\)"):
        SourceFunction("com.A")  # type: ignore[abstract]
    with pytest.raises(TypeError, match=r"SinkFunction cannot wrap a Java class \('com.A'\).*implement invoke"):
        SinkFunction(sink_func="com.A")  # type: ignore[abstract]


def test_map_is_not_generic_as_in_pyflink() -> None:
    with pytest.raises(TypeError):
        MapFunction[int, int]  # type: ignore[misc]
