"""The input and output of rules: a job that would run, its event time, and findings with file and line.

``HEAD`` is the first part of all rules' examples.
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
from millrace.graph.program import Graph, Node
from millrace.runtime.operators import specs


@dataclass(frozen=True)
class Hit:
    """A place that a rule has found."""

    origin: str
    """file:line of the user's code"""
    text: str
    """one sentence, without a full stop"""


@dataclass(frozen=True, order=True)
class Finding:
    """A hit with its rule, as it is shown."""

    file: str
    line: int
    code: str
    """code of the rule: ML001"""
    name: str
    """name of the rule: growing-state"""
    text: str
    cure: str


def place_of(origin: str) -> tuple[str, int]:
    """The file, relative to the working directory if it lies below it, and the line; 0 if unknown."""
    file, colon, line = origin.rpartition(":")
    if not colon or not line.isdigit():
        return origin, 0
    relative = os.path.relpath(file) if os.path.isabs(file) else os.path.normpath(file)
    return (file if relative.startswith(os.pardir) else relative), int(line)


@dataclass(frozen=True)
class Subject:
    """The job that rules examine."""

    program: str
    """path of the program's file; "" for a module without one"""
    made: Graph
    """the graph as the program made it: with its own uids, parallelism and exchanges only"""
    graph: Graph
    """the graph after all passes"""
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
        """All nodes upstream of a node, without the node itself; the search does not pass nodes for which ``stop`` is
        true."""
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
        """Whether an unbounded source is upstream of a node. Generated data (datagen) does not count: the program
        limits the range of its keys."""
        return any(_is_endless(upper.spec) for upper in (node, *self.above(node)))


def _is_endless(spec: Any) -> bool:
    if not isinstance(spec, specs.Source) or isinstance(spec.source, DataGeneratorSource):
        return False
    return spec.source.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED


@dataclass(frozen=True)
class Rule:
    """A kind of mistake. Its examples are tested, and are shown in the documentation."""

    code: str
    """code of the rule, which is never used for another one: ML001"""
    name: str
    meaning: str
    """consequences of the mistake, in whole sentences"""
    cure: str
    """how to fix the mistake, as an instruction"""
    bad: str
    """lines of a program, after ``HEAD``, in which the rule finds the mistake"""
    good: str
    """the fixed lines, in which no rule finds a mistake"""
    check: Callable[[Subject], Iterator[Hit]]


# Event time


def sources_without_time(subject: Subject, node: Node) -> Iterator[Node]:
    """Sources upstream of a node whose elements lack what event time needs there: watermarks in unbounded streams, and
    timestamps in lists (other sources may set them)."""
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
    """Whether a node may emit watermarks itself, as the user's functions and sources can."""
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
