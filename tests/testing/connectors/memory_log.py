"""A log in this process, with a source and a sink that are right, for the kit to check."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from millrace.common.sink import Committer, Sink, SinkWriter, WriterInitContext
from millrace.common.source import Boundedness, Source, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.sink_base import Patience
from millrace.connectors.source_base import QueueEnumerator
from millrace.connectors.split_reader import SourceReaderBase, SplitBatch, SplitReader
from millrace.testing.connectors import SinkUnderTest, SourceUnderTest

PARTITIONS = 3


@dataclass
class Log:
    partitions: list[list[str]] = field(default_factory=lambda: [[] for _ in range(PARTITIONS)])
    done: set[tuple[Any, ...]] = field(default_factory=set)
    prepared: dict[tuple[Any, ...], list[str]] = field(default_factory=dict)
    """what sinks have prepared, by its mark"""

    def append(self, text: str) -> None:
        self.partitions[hash(text) % PARTITIONS].append(text)


LOGS: dict[str, Log] = {}


@dataclass(frozen=True)
class LogSplit:
    partition: int
    at: int = 0

    @property
    def split_id(self) -> str:
        return str(self.partition)


class LogSplitReader(SplitReader[str, LogSplit]):
    def __init__(self, name: str) -> None:
        self.log = LOGS[name]
        self.splits: dict[int, LogSplit] = {}

    def handle_splits_changes(self, added: Sequence[LogSplit]) -> None:
        self.splits |= {each.partition: each for each in added}

    def fetch(self) -> list[SplitBatch[str, LogSplit]]:
        found = []
        for partition, split in self.splits.items():
            texts = self.log.partitions[partition][split.at : split.at + 7]
            for text in texts:
                if text.startswith("!"):
                    raise ValueError(f"partition {partition} has {text!r}")
            if texts:
                left = self.splits[partition] = replace(split, at=split.at + len(texts))
                found.append(SplitBatch[str, LogSplit](split.split_id, texts, left))
        if not found:
            time.sleep(0.005)
        return found


@dataclass(frozen=True)
class LogSource(Source[str, LogSplit]):
    name: str

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, context: SplitEnumeratorContext[LogSplit], checkpoint: Any = None) -> Any:
        splits = [LogSplit(number) for number in range(PARTITIONS)] if checkpoint is None else checkpoint
        return QueueEnumerator(context, splits)

    def create_reader(self, context: SourceReaderContext) -> SourceReaderBase[str, LogSplit]:
        return SourceReaderBase(lambda: LogSplitReader(self.name))


class LogPlace(SourceUnderTest):
    def __init__(self) -> None:
        self.name = uuid.uuid4().hex
        LOGS[self.name] = Log()

    def source(self) -> Source[Any, Any]:
        return LogSource(self.name)

    def put(self, elements: Sequence[str]) -> None:
        for element in elements:
            LOGS[self.name].append(element)

    def poison(self) -> str | None:
        LOGS[self.name].append("!bad")
        return "partition"

    def close(self) -> None:
        del LOGS[self.name]


# -- sinks --------------------------------------------------------------------------------------------------------


class LogWriter(SinkWriter[str]):
    def __init__(self, context: WriterInitContext) -> None:
        self.context = context
        self.texts: list[str] = []

    def write(self, element: str, context: Any) -> None:
        self.texts.append(element)

    def prepare_commit(self) -> list[Any]:
        texts, self.texts = self.texts, []
        mark = (self.context.get_job_id(), self.context.get_index_of_subtask(), self.context.get_checkpoint_id())
        return [(mark, texts)] if texts else []


@dataclass(frozen=True)
class LogCommitter(Committer[Any]):
    name: str

    def commit(self, committables: Sequence[Any]) -> None:
        log = LOGS[self.name]
        for mark, texts in committables:
            if mark not in log.done:
                log.done.add(mark)
                for text in texts:
                    log.append(text)


@dataclass(frozen=True)
class LogSink(Sink[str]):
    name: str

    def create_writer(self, context: WriterInitContext) -> SinkWriter[str]:
        return LogWriter(context)

    def create_committer(self) -> Committer[Any] | None:
        return LogCommitter(self.name)


class DirectWriter(SinkWriter[str]):
    """At least once: what it was given is there when the epoch ends, or 100 ms later."""

    def __init__(self, name: str, context: WriterInitContext) -> None:
        self.name = name
        self.texts: list[str] = []
        self.patience = Patience(context.current_processing_time)

    def write(self, element: str, context: Any) -> None:
        self.patience.begin()
        self.texts.append(element)

    def end_slice(self, now: int) -> None:
        if self.patience.is_over(now):
            DirectWriter.flush(self, False)

    def flush(self, end_of_input: bool) -> None:
        for text in self.texts:
            LOGS[self.name].append(text)
        self.texts = []
        self.patience.end()


@dataclass(frozen=True)
class DirectSink(Sink[str]):
    name: str

    def create_writer(self, context: WriterInitContext) -> SinkWriter[str]:
        return DirectWriter(self.name, context)


class SinkPlace(SinkUnderTest):
    sink_class: Any = LogSink

    def __init__(self) -> None:
        self.name = uuid.uuid4().hex
        LOGS[self.name] = Log()

    def sink(self) -> Sink[Any]:
        made: Sink[Any] = self.sink_class(self.name)
        return made

    def written(self) -> list[str]:
        return [text for partition in LOGS[self.name].partitions for text in partition]

    def close(self) -> None:
        del LOGS[self.name]


class DirectPlace(SinkPlace):
    exactly_once = False
    seen_after_ms = 100
    sink_class = DirectSink
