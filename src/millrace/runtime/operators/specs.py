"""Frozen descriptions of what operators do, one class per kind of operator.

The name of a description is the name of the public method. It goes unchanged from the program into the job: entry
points say which operator runs it (``runtime/operators/making.py``), and code on the driver that must know whether an
operator reads, commits or has windows asks the description.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from millrace.common import functions
from millrace.common.sink import Committer
from millrace.common.sink import Sink as SinkContract
from millrace.common.source import Source as SourceContract
from millrace.common.state import MapStateDescriptor
from millrace.common.typeinfo import TypeInformation
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.runtime.cep.description import PatternDescription, PatternReader
from millrace.runtime.cep.functions import PatternProcessFunction
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.windows.slicing import WindowStrategy
from millrace.util.record import Record


class Spec(Record):
    """Base of all descriptions of operators."""

    def parts(self) -> tuple[Any, ...]:
        """The arguments of the operator's constructor."""
        return tuple(getattr(self, part.name) for part in fields(self))

    def for_tasks(self) -> Spec:
        """The description as tasks need it."""
        return self


class ReadsSplits(Spec):
    """Base of descriptions whose operator reads splits that the driver assigns."""


class Commits(Spec):
    """Base of descriptions whose operator writes into a sink, which may commit in two phases."""

    sink: SinkContract[Any]

    def committer(self) -> Committer[Any] | None:
        """The committer of the second phase; None: the sink has none."""
        return self.sink.create_committer()


class Source(ReadsSplits):
    """``from_source`` and everything built on it."""

    source: SourceContract[Any, Any]
    strategy: WatermarkStrategy

    def for_tasks(self) -> Spec:
        """The source without what only its enumerator uses."""
        return replace(self, source=self.source.for_readers())


class Map(Spec):
    function: functions.MapFunction


class FlatMap(Spec):
    function: functions.FlatMapFunction


class Filter(Spec):
    function: functions.FilterFunction


class AssignTimestamps(Spec):
    """``assign_timestamps_and_watermarks``."""

    strategy: WatermarkStrategy


class Process(Spec):
    function: functions.ProcessFunction


class KeyedProcess(Spec):
    function: functions.KeyedProcessFunction


class CoProcess(Spec):
    function: functions.CoProcessFunction


class KeyedCoProcess(Spec):
    function: functions.KeyedCoProcessFunction


class BroadcastProcess(Spec):
    """``BroadcastConnectedStream.process`` without keys. Input 1 is the broadcast side."""

    function: functions.BroadcastProcessFunction[Any, Any, Any]
    descriptors: tuple[MapStateDescriptor, ...]


class KeyedBroadcastProcess(Spec):
    """``BroadcastConnectedStream.process`` on a keyed stream. Input 1 is the broadcast side."""

    function: functions.KeyedBroadcastProcessFunction[Any, Any, Any, Any]
    descriptors: tuple[MapStateDescriptor, ...]


class Reduce(Spec):
    function: functions.ReduceFunction


class Window(Spec):
    """``KeyedStream.window`` and ``DataStream.window_all``, with the function that is applied to each window."""

    strategy: WindowStrategy
    function: functions.ProcessWindowFunction[Any, Any, Any, Any]


class IntervalJoin(Spec):
    """``KeyedStream.interval_join``: pairs with ``lower <= right timestamp - left timestamp <= upper`` (ms)."""

    lower: int
    upper: int
    function: functions.ProcessJoinFunction
    left_late_tag: str | None = None
    """side output for late elements of the left stream; None: they are counted and dropped"""
    right_late_tag: str | None = None


class MatchPattern(Spec):
    """``PatternStream.process`` and its siblings, on a keyed stream."""

    pattern: PatternDescription
    function: PatternProcessFunction
    event_time: bool = True
    comparator: Callable[[Any, Any], int] | None = None
    """the order of events with equal timestamps; None: the order of arrival"""
    late_tag: str | None = None
    """side output for late events; None: they are counted and dropped"""


class MatchPatterns(Spec):
    """``DynamicPatternStream.process``, on a keyed stream; input 1 has the messages about patterns."""

    reader: PatternReader
    function: PatternProcessFunction
    event_time: bool = True
    comparator: Callable[[Any, Any], int] | None = None
    """the order of events with equal timestamps; None: the order of arrival"""
    late_tag: str | None = None
    """side output for late events; None: they are counted and dropped"""
    refused_tag: str | None = None
    """side output for messages and patterns that can't be used; None: they fail the job"""
    finish: bool = False
    """whether an old version of a pattern finishes the matches that it has begun"""


class AsyncWait(Spec):
    """``AsyncDataStream.ordered_wait`` and its siblings."""

    function: functions.AsyncFunction[Any, Any]
    timeout: int
    """time limit in ms for one element with all its attempts; 0 or less for no limit"""
    capacity: int
    retry_strategy: functions.AsyncRetryStrategy[Any]
    output_mode: functions.AsyncFunctionDescriptor.OutputMode


class FillCache(Commits):
    """``cache`` in the job that computes the result: a sink in the middle of a stream."""


class Iterate(ReadsSplits):
    """``iterate``: the head of a loop."""

    max_rounds: int | None


class CloseWith(Spec):
    """``IterativeStream.close_with``: the end of a loop."""

    head: int
    """id of the loop's head; not an edge, since the graph has no cycles"""


class TableStep(Spec):
    """One operator of a table program, on batches of rows; the configuration says which one."""

    config: TableConfig


class Sink(Commits):
    """``sink_to`` and ``add_sink``."""


class StatefulSink(Spec):
    """``add_sink`` with a CheckpointedFunction."""

    function: functions.SinkFunction[Any]


class Print(Spec):
    identifier: str | None
    element_type: TypeInformation | None


class Collect(Spec):
    """The end of ``execute_and_collect``."""
