"""A source of listed splits that writes down what happens to its readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceEvent,
    SourceReader,
    SourceReaderContext,
    SplitEnumeratorContext,
)
from millrace.connectors.source_base import QueueEnumerator


@dataclass(frozen=True)
class Listed:
    """Values that are still to be read."""

    split_id: str
    values: tuple[Any, ...]


@dataclass
class Life:
    """Of all readers and the enumerators of a source, in the process of the test."""

    steps: list[Any] = field(default_factory=list)
    sent: list[tuple[str, Any]] = field(default_factory=list)

    def told(self) -> list[Any]:
        steps, self.steps = self.steps, []
        return steps


LIVES: dict[str, Life] = {}


class ListedReader(SourceReader[Any, Listed]):
    """One value a poll. "fail" raises once, "?" asks for a split, an event goes to the enumerator."""

    def __init__(self, life: Life, context: SourceReaderContext) -> None:
        self.life, self.context = life, context
        self.splits: list[Listed] = []
        self.no_more = False

    def start(self) -> None:
        self.life.steps.append("start")

    def add_splits(self, splits: Sequence[Listed]) -> None:
        self.life.steps.append(("add", [(split.split_id, *split.values) for split in splits]))
        self.splits += splits

    def notify_no_more_splits(self) -> None:
        self.no_more = True

    def handle_source_events(self, event: SourceEvent) -> None:
        self.life.steps.append(("heard", event))

    def poll_next(self, output: ReaderOutput[Any]) -> InputStatus:
        if not self.splits:
            return InputStatus.END_OF_INPUT if self.no_more else InputStatus.NOTHING_AVAILABLE
        first = self.splits.pop(0)
        value, *rest = first.values
        if rest:
            self.splits.insert(0, replace(first, values=tuple(rest)))
        if value == "fail" and "failed" not in self.life.steps:
            self.life.steps.append("failed")
            raise OSError("disk on fire")
        if value == "?":
            self.context.send_split_request()
        elif isinstance(value, SourceEvent):
            self.context.send_source_event_to_coordinator(value)
        else:
            output.collect(value)
        return InputStatus.MORE_AVAILABLE

    def snapshot_state(self, checkpoint_id: int) -> list[Listed]:
        return self.splits

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.life.steps.append(("complete", checkpoint_id))

    def close(self) -> None:
        self.life.steps.append("close")


class ListedEnumerator(QueueEnumerator[Listed]):
    """Answers every event with itself, to the next subtask."""

    def __init__(self, name: str, context: SplitEnumeratorContext[Listed], splits: Sequence[Listed]) -> None:
        super().__init__(context, splits)
        self._life = LIVES[name]

    def handle_source_event(self, subtask_id: int, event: SourceEvent) -> None:
        self._life.sent.append((f"subtask {subtask_id}", event))
        following = (subtask_id + 1) % self._context.current_parallelism()
        self._context.send_event_to_source_reader(following, event)


class ListedSource(Source[Any, Listed]):
    """``splits``: the values of each."""

    def __init__(self, name: str, splits: Sequence[Sequence[Any]]) -> None:
        self.name = name
        self.splits = [Listed(str(number), tuple(values)) for number, values in enumerate(splits)]
        LIVES[name] = Life()

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self, context: SplitEnumeratorContext[Listed], checkpoint: Any = None) -> ListedEnumerator:
        return ListedEnumerator(self.name, context, self.splits if checkpoint is None else checkpoint)

    def create_reader(self, context: SourceReaderContext) -> ListedReader:
        return ListedReader(LIVES[self.name], context)

    def for_readers(self) -> ListedSource:
        light = ListedSource.__new__(ListedSource)
        light.name = self.name
        return light
