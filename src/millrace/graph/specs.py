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
from millrace.datastream import functions


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
class Reduce(Spec):
    function: functions.ReduceFunction


@dataclass(frozen=True)
class Sink(Spec):
    """``sink_to`` and ``add_sink``."""

    sink: SinkContract[Any]


@dataclass(frozen=True)
class Print(Spec):
    identifier: str | None
    element_type: TypeInformation | None


@dataclass(frozen=True)
class Collect(Spec):
    """The end of ``execute_and_collect``."""
