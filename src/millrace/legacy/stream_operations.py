"""Older operations of streams: ``key_type_info``, ``split``, ``fold``, ``time_window`` with ``TimeCharacteristic``.

A time characteristic said which time the windows of a whole program went by.
"""

from __future__ import annotations

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from millrace.common.functions import AggregateFunction, CheckpointedFunction, Function, KeyedProcessFunction
from millrace.common.state import ListStateDescriptor, ValueStateDescriptor
from millrace.common.time import Time, TimeSpan
from millrace.common.typeinfo import TypeInformation, Types
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.common.window import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    MergingWindowAssigner,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.data_stream import DataStream, KeyedStream
from millrace.datastream.windowed_stream import AllWindowedStream, WindowedStream
from millrace.legacy.warning import tell

_EVENT_TIME_INTERVAL_MS = 200


class TimeCharacteristic(Enum):
    """The time characteristic of ``time_window``: event time, processing time or ingestion time."""

    ProcessingTime = 0
    IngestionTime = 1
    EventTime = 2


class Arrival(TimestampAssigner):
    """Assigns elements the time of their arrival."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(time.time() * 1000)


def set_stream_time_characteristic(
    env: StreamExecutionEnvironment, characteristic: TimeCharacteristic
) -> StreamExecutionEnvironment:
    """Set the time characteristic of ``time_window``. With ingestion time, sources stamp the elements that they
    read."""
    if not isinstance(characteristic, TimeCharacteristic):
        raise TypeError(f"set_stream_time_characteristic() takes a TimeCharacteristic, not {characteristic!r}")
    tell(
        "StreamExecutionEnvironment.set_stream_time_characteristic()",
        "window assigners say it: TumblingEventTimeWindows, TumblingProcessingTimeWindows; leave it out",
    )
    env.__dict__["_older_characteristic"] = characteristic
    of_sources = WatermarkStrategy.no_watermarks()
    if characteristic is TimeCharacteristic.IngestionTime:
        of_sources = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Arrival())
    env._watermarks_of_sources = of_sources
    is_processing = characteristic is TimeCharacteristic.ProcessingTime
    env.get_config().set_auto_watermark_interval(0 if is_processing else _EVENT_TIME_INTERVAL_MS)
    return env


def get_stream_time_characteristic(env: StreamExecutionEnvironment) -> TimeCharacteristic:
    """The time characteristic that was set; processing time by default, as up to Flink 1.11."""
    return env.__dict__.get("_older_characteristic", TimeCharacteristic.ProcessingTime)  # type: ignore[no-any-return]


def todays_arguments(
    function: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, with ``key_type_info`` renamed to today's ``key_type``."""
    tell(f"{function}(key_type_info=...)", "key_type=...")
    return args, {("key_type" if name == "key_type_info" else name): value for name, value in keywords.items()}


class FoldFunction(Function):
    """Folds many values into one, starting with an initial value of the result's type."""

    @abstractmethod
    def fold(self, accumulator: Any, value: Any) -> Any:
        """The accumulator after one more value."""


class OutputSelector(ABC):
    """Assigns elements names, by which ``SplitStream.select`` selects them."""

    @abstractmethod
    def select(self, value: Any) -> Iterable[str]:
        """The names of an element; empty for an element that no stream gets."""


_ELEMENTS = ListStateDescriptor("list-checkpointed", Types.PICKLED_BYTE_ARRAY())


class ListCheckpointed(CheckpointedFunction):
    """A function whose state is a list, whose items may be redistributed when the parallelism changes.

    A subclass has ``snapshot_state(self, checkpoint_id, timestamp)``, which gives the list, and ``restore_state(self,
    state)``, which takes one.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        given = cls.__dict__.get("snapshot_state")
        if given is not None:
            type.__setattr__(cls, "list_of_state", given)
            type.__setattr__(cls, "snapshot_state", ListCheckpointed.snapshot_state)

    def initialize_state(self, context: Any) -> None:
        tell("ListCheckpointed", "CheckpointedFunction")
        self.__dict__["_saved"] = context.get_operator_state_store().get_list_state(_ELEMENTS)
        if context.is_restored():
            self.restore_state(list(self.__dict__["_saved"].get()))

    def snapshot_state(self, context: Any) -> None:
        number = context.get_checkpoint_id()
        timestamp = context.get_checkpoint_timestamp()
        self.__dict__["_saved"].update(list(self.list_of_state(number, timestamp)))

    def list_of_state(self, checkpoint_id: int, timestamp: int) -> list[Any]:
        """The list that the subclass's ``snapshot_state`` returns."""
        raise NotImplementedError(f"{type(self).__name__} has no snapshot_state(checkpoint_id, timestamp)")

    @abstractmethod
    def restore_state(self, state: list[Any]) -> None:
        """Restore items of the list, saved by this subtask or by others."""


class SplitStream(DataStream):
    """A stream whose elements have names."""

    def __init__(self, stream: DataStream, select: Callable[[Any], Iterable[str]]) -> None:
        super().__init__(stream._env, stream._ports, stream._type)
        self._select = select

    def select(self, *output_names: str) -> DataStream:
        """The elements that have one of these names."""
        if not output_names:
            raise ValueError("select() takes at least one name")
        select, wanted = self._select, frozenset(output_names)
        return self.filter(lambda value: not wanted.isdisjoint(select(value))).name("Select")


def split(stream: DataStream, output_selector: OutputSelector | Callable[[Any], Iterable[str]]) -> SplitStream:
    """Assign each element the names that the selector returns."""
    tell("DataStream.split()", "process() with OutputTags and get_side_output(), or filter()")
    select = output_selector.select if isinstance(output_selector, OutputSelector) else output_selector
    if not callable(select):
        raise TypeError(f"split() takes an OutputSelector, not {type(output_selector).__name__}")
    return SplitStream(stream, select)


_Step = Callable[[Any, Any], Any]


def fold(
    stream: Any,
    initial_value: Any,
    func: FoldFunction | _Step,
    window_function: Any = None,
    output_type: TypeInformation | None = None,
) -> DataStream:
    """Fold the elements of each key, emitting the result after each element, or the elements of each window.

    :param window_function: of windows: gets the result only.
    """
    step = _step(func)
    if isinstance(stream, KeyedStream):
        tell("KeyedStream.fold()", "reduce(), or process() with a ValueState")
        if window_function is not None:
            raise TypeError("fold() on a keyed stream takes no window function: call window() before")
        return stream.process(RunningFold(initial_value, step), output_type).name("Fold")
    tell("WindowedStream.fold()", "aggregate() with an AggregateFunction")
    if isinstance(stream._assigner, MergingWindowAssigner):
        raise TypeError("fold() can't merge windows: session windows take aggregate() with an AggregateFunction")
    folding = WindowFold(initial_value, step)
    made: DataStream = stream.aggregate(folding, window_function, Types.PICKLED_BYTE_ARRAY(), output_type)
    return made


def _step(func: Any) -> _Step:
    if isinstance(func, FoldFunction):
        return func.fold
    if callable(func):
        return func  # type: ignore[no-any-return]
    raise TypeError(f"fold() takes a FoldFunction or a function of two arguments, not {type(func).__name__}")


class RunningFold(KeyedProcessFunction):
    """The fold of all elements of a key so far."""

    def __init__(self, initial_value: Any, step: _Step) -> None:
        self._initial, self._step = initial_value, step

    def open(self, runtime_context: Any) -> None:
        self._so_far = runtime_context.get_state(ValueStateDescriptor("fold", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        before = self._so_far.value()
        # In a list: the result of a fold may be None.
        after = self._step(copy.deepcopy(self._initial) if before is None else before[0], value)
        self._so_far.update([after])
        yield after


class WindowFold(AggregateFunction):
    """The fold of the elements of a window."""

    def __init__(self, initial_value: Any, step: _Step) -> None:
        self._initial, self._step = initial_value, step

    def create_accumulator(self) -> Any:
        return copy.deepcopy(self._initial)

    def add(self, value: Any, accumulator: Any) -> Any:
        return self._step(accumulator, value)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        raise TypeError("results of fold() can't be merged")


def time_window(stream: KeyedStream, size: TimeSpan, slide: TimeSpan | None = None) -> WindowedStream:
    """Windows of a length, in the environment's time characteristic."""
    assigner = _assigner(stream, size, slide)
    tell("KeyedStream.time_window()", f"window({type(assigner).__name__}.of(...))")
    return stream.window(assigner)


def time_window_all(stream: DataStream, size: TimeSpan, slide: TimeSpan | None = None) -> AllWindowedStream:
    """Windows of a length over all elements together, in the environment's time characteristic."""
    assigner = _assigner(stream, size, slide)
    tell("DataStream.time_window_all()", f"window_all({type(assigner).__name__}.of(...))")
    return stream.window_all(assigner)


def count_window_all(stream: DataStream, size: int, slide: int = 0) -> AllWindowedStream:
    """Windows of ``size`` elements, one after the other or beginning every ``slide``."""
    tell("DataStream.count_window_all()", "window_all(CountTumblingWindowAssigner.of(...))")
    assigner: WindowAssigner[Any, Any] = (
        CountSlidingWindowAssigner.of(size, slide) if slide else CountTumblingWindowAssigner.of(size)
    )
    return stream.window_all(assigner)


def _assigner(stream: DataStream, size: TimeSpan, slide: TimeSpan | None) -> WindowAssigner[Any, Any]:
    characteristic = get_stream_time_characteristic(stream.get_execution_environment())
    if characteristic is TimeCharacteristic.ProcessingTime:
        if slide is None:
            return TumblingProcessingTimeWindows.of(_time(size))
        return SlidingProcessingTimeWindows.of(_time(size), _time(slide))
    if slide is None:
        return TumblingEventTimeWindows.of(_time(size))
    return SlidingEventTimeWindows.of(_time(size), _time(slide))


def _time(span: Any) -> Any:
    return Time.milliseconds(span) if isinstance(span, int) else span
