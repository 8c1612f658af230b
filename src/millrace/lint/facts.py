"""What rules look at and what they say: a job that would run, its event time, findings with file and line.

``HEAD`` is what the examples of all rules begin with.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from millrace.common.source import Boundedness
from millrace.connectors.generated_sources import CollectionSource, DataGeneratorSource
from millrace.connectors.hybrid import HybridSource
from millrace.connectors.source_function import SourceFunctionSource
from millrace.graph.nodes import Graph, Node
from millrace.runtime.operators import specs


@dataclass(frozen=True)
class Hit:
    """What one rule found."""

    origin: str
    """file:line of the user's code"""
    text: str
    """one sentence, without a full stop"""


@dataclass(frozen=True, order=True)
class Finding:
    """A hit of a rule, as it is shown."""

    file: str
    line: int
    code: str
    """of the rule: ML001"""
    name: str
    """of the rule, in words: growing-state"""
    text: str
    cure: str


def place_of(origin: str) -> tuple[str, int]:
    """The file, as seen from the working directory where it lies below that, and the line; 0 if it is not known."""
    file, colon, line = origin.rpartition(":")
    if not colon or not line.isdigit():
        return origin, 0
    relative = os.path.relpath(file) if os.path.isabs(file) else os.path.normpath(file)
    return (file if relative.startswith(os.pardir) else relative), int(line)


@dataclass(frozen=True)
class Subject:
    """What rules look at."""

    program: str
    """the file of the program; "" for a module that has none"""
    made: Graph
    """as the program made it: its own uids, parallelism and exchanges only"""
    graph: Graph
    """the same after the passes"""
    checkpoints: bool
    """whether the job takes checkpoints"""

    @property
    def streaming(self) -> bool:
        return not self.graph.settings.batch

    @cached_property
    def nodes(self) -> dict[int, Node]:
        """The nodes of the graph after the passes, by their ids."""
        return self.graph.by_id()

    def above(self, node: Node, stop: Callable[[Node], bool] = lambda _: False) -> Iterator[Node]:
        """The nodes whose elements reach a node, without itself; ``stop`` says beyond which not to look."""
        seen: set[int] = set()
        waiting = [edge.source for edge in node.edges]
        while waiting:
            id = waiting.pop()
            if id in seen:
                continue
            seen.add(id)
            upper = self.nodes[id]
            yield upper
            if not stop(upper):
                waiting += [edge.source for edge in upper.edges]

    def is_endless(self, node: Node) -> bool:
        """Whether elements that come for ever reach a node. What a program makes up itself (datagen) does not count:
        its keys are of a range that the program knows."""
        return any(_is_endless(upper.spec) for upper in (node, *self.above(node)))


def _is_endless(spec: Any) -> bool:
    if not isinstance(spec, specs.Source) or isinstance(spec.source, DataGeneratorSource):
        return False
    return spec.source.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED


@dataclass(frozen=True)
class Rule:
    """A kind of mistake. Its examples are its tests, and stand in the documentation."""

    code: str
    """ML001: never given to another rule"""
    name: str
    meaning: str
    """what goes wrong if nothing is done: whole sentences"""
    cure: str
    """what to do, as an order"""
    bad: str
    """lines of a program, behind ``examples.HEAD``, in which the rule finds something"""
    good: str
    """the same mended: no rule finds anything in it"""
    check: Callable[[Subject], Iterator[Hit]]


# Event time


def sources_without_time(subject: Subject, node: Node) -> Iterator[Node]:
    """Sources whose elements reach a node and lack there what event time needs: watermarks in streams without end, and
    timestamps, which other sources may give, in lists."""
    for upper in subject.above(node, _may_give_time):
        match upper.spec:
            case specs.Source(source=source) if not _may_give_time(upper):
                if subject.is_endless(upper) or isinstance(source, CollectionSource):
                    yield upper


def _may_give_time(node: Node) -> bool:
    match node.spec:
        case specs.AssignTimestamps() | specs.TableStep():
            return True
        case specs.Source(source=source, strategy=strategy):
            return not strategy.is_without_time() or _may_emit_watermarks(source)
    return False


def _may_emit_watermarks(source: object) -> bool:
    """Functions and sources of the user may write watermarks themselves."""
    own = not type(source).__module__.startswith("millrace.")
    return own or isinstance(source, (SourceFunctionSource, HybridSource))


# Examples

HEAD = """\
import random

import httpx
import requests

from millrace.common import Duration, Encoder, Time, Types, WatermarkStrategy
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.datastream import AsyncDataStream, StreamExecutionEnvironment
from millrace.datastream.connectors.file_system import FileSink
from millrace.datastream.functions import AsyncFunction, KeyedProcessFunction, MapFunction
from millrace.datastream.state import StateTtlConfig, ValueStateDescriptor
from millrace.datastream.window import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from millrace.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
words = env.socket_text_stream("localhost", 9999, delimiter=" ")
"""
