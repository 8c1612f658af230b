"""What operators do, one frozen description per operator of the runtime.

The name of a description is the name of the public method; ``lowering`` finds the operator of the same name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millrace.common.sink import Sink as SinkContract
from millrace.common.source import Source as SourceContract
from millrace.common.typeinfo import TypeInformation
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.result_cache import ResultCache
from millrace.datastream import functions
from millrace.datastream.state import MapStateDescriptor
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.windows.strategy import WindowStrategy


@dataclass(frozen=True)
class Spec:
    """Base of all descriptions."""


@dataclass(frozen=True)
class Source(Spec):
    """``from_source`` and everything built on it."""

    source: SourceContract[Any, Any]
    strategy: WatermarkStrategy


@dataclass(frozen=True)
class Map(Spec):
    function: functions.MapFunction


@dataclass(frozen=True)
class FlatMap(Spec):
    function: functions.FlatMapFunction


@dataclass(frozen=True)
class Filter(Spec):
    function: functions.FilterFunction


@dataclass(frozen=True)
class AssignTimestamps(Spec):
    """``assign_timestamps_and_watermarks``."""

    strategy: WatermarkStrategy


@dataclass(frozen=True)
class Process(Spec):
    function: functions.ProcessFunction


@dataclass(frozen=True)
class KeyedProcess(Spec):
    function: functions.KeyedProcessFunction


@dataclass(frozen=True)
class CoProcess(Spec):
    function: functions.CoProcessFunction


@dataclass(frozen=True)
class KeyedCoProcess(Spec):
    function: functions.KeyedCoProcessFunction


@dataclass(frozen=True)
class BroadcastProcess(Spec):
    """Input 1 is the broadcast side."""

    function: functions.BroadcastProcessFunction[Any, Any, Any]
    descriptors: tuple[MapStateDescriptor, ...]


@dataclass(frozen=True)
class KeyedBroadcastProcess(Spec):
    """Input 1 is the broadcast side."""

    function: functions.KeyedBroadcastProcessFunction[Any, Any, Any, Any]
    descriptors: tuple[MapStateDescriptor, ...]


@dataclass(frozen=True)
class Reduce(Spec):
    function: functions.ReduceFunction


@dataclass(frozen=True)
class Window(Spec):
    """``KeyedStream.window`` and ``DataStream.window_all``, with what is done with a window."""

    strategy: WindowStrategy
    function: functions.ProcessWindowFunction[Any, Any, Any, Any]


@dataclass(frozen=True)
class IntervalJoin(Spec):
    """``KeyedStream.interval_join``: pairs with ``lower <= right timestamp - left timestamp <= upper`` (ms)."""

    lower: int
    upper: int
    function: functions.ProcessJoinFunction
    left_late_tag: str | None = None
    """side output for late elements of the left stream; None: they are counted and dropped"""
    right_late_tag: str | None = None


@dataclass(frozen=True)
class AsyncWait(Spec):
    """``AsyncDataStream.ordered_wait`` and its siblings."""

    function: functions.AsyncFunction[Any, Any]
    timeout: int
    """ms for one element with all its attempts; 0 or less for no limit"""
    capacity: int
    retry_strategy: functions.AsyncRetryStrategy[Any]
    output_mode: functions.AsyncFunctionDescriptor.OutputMode


@dataclass(frozen=True)
class Cache(Spec):
    """``cache``: in the job that computes the result; later jobs have a ``Source`` in its place."""

    cache: ResultCache


@dataclass(frozen=True)
class Iterate(Spec):
    """``iterate``: the head of a loop."""

    max_rounds: int | None


@dataclass(frozen=True)
class CloseWith(Spec):
    """``IterativeStream.close_with``: the end of a loop."""

    head: int
    """id of the loop's head: no edge, since the graph has no cycles"""


@dataclass(frozen=True)
class TableStep(Spec):
    """One operator of a table program, on batches of rows: its configuration says which."""

    config: TableConfig


@dataclass(frozen=True)
class Sink(Spec):
    """``sink_to`` and ``add_sink``."""

    sink: SinkContract[Any]


@dataclass(frozen=True)
class StatefulSink(Spec):
    """``add_sink`` with a CheckpointedFunction."""

    function: functions.SinkFunction[Any]


@dataclass(frozen=True)
class Print(Spec):
    identifier: str | None
    element_type: TypeInformation | None


@dataclass(frozen=True)
class Collect(Spec):
    """The end of ``execute_and_collect``."""
