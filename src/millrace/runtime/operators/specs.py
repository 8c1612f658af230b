"""What operators do, one frozen description per operator of the runtime.

The name of a description is the name of the public method. It goes unchanged from the program into the job: the table
in ``runtime/operators/one_input_operators.py`` says which operator runs it, and code on the driver that must know
whether an operator reads, commits or keeps windows asks the description.
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
    """Base of all descriptions."""

    def parts(self) -> tuple[Any, ...]:
        """What it consists of: the arguments of its operator."""
        return tuple(getattr(self, part.name) for part in fields(self))

    def for_tasks(self) -> Spec:
        """The description as tasks need it."""
        return self


class ReadsSplits(Spec):
    """Base of those whose operator reads splits that the driver hands out."""


class Commits(Spec):
    """Base of those that write into a sink, which may have a second phase."""

    sink: SinkContract[Any]

    def committer(self) -> Committer[Any] | None:
        """The second phase; None for a sink without."""
        return self.sink.create_committer()


class Source(ReadsSplits):
    """``from_source`` and everything built on it."""

    source: SourceContract[Any, Any]
    strategy: WatermarkStrategy

    def for_tasks(self) -> Spec:
        """Sources leave at home what only their enumerators use."""
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
    """Input 1 is the broadcast side."""

    function: functions.BroadcastProcessFunction[Any, Any, Any]
    descriptors: tuple[MapStateDescriptor, ...]


class KeyedBroadcastProcess(Spec):
    """Input 1 is the broadcast side."""

    function: functions.KeyedBroadcastProcessFunction[Any, Any, Any, Any]
    descriptors: tuple[MapStateDescriptor, ...]


class Reduce(Spec):
    function: functions.ReduceFunction


class Window(Spec):
    """``KeyedStream.window`` and ``DataStream.window_all``, with what is done with a window."""

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
    """the order of events with the same timestamp; None: as they arrive"""
    late_tag: str | None = None
    """side output for late events; None: they are counted and dropped"""


class MatchPatterns(Spec):
    """``DynamicPatternStream.process``, on a keyed stream; input 1 has the messages about patterns."""

    reader: PatternReader
    function: PatternProcessFunction
    event_time: bool = True
    comparator: Callable[[Any, Any], int] | None = None
    """the order of events with the same timestamp; None: as they arrive"""
    late_tag: str | None = None
    """side output for late events; None: they are counted and dropped"""
    refused_tag: str | None = None
    """side output for what is said of patterns and can't be used; None: that is a failure"""
    finish: bool = False
    """whether an old version of a pattern finishes the matches that it has begun"""


class AsyncWait(Spec):
    """``AsyncDataStream.ordered_wait`` and its siblings."""

    function: functions.AsyncFunction[Any, Any]
    timeout: int
    """ms for one element with all its attempts; 0 or less for no limit"""
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
    """id of the loop's head: no edge, since the graph has no cycles"""


class TableStep(Spec):
    """One operator of a table program, on batches of rows: its configuration says which."""

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
