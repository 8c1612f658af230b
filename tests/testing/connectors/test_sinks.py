"""The kit for sinks: right ones pass, and each of the broken ones is found out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from tests.testing.connectors.memory_log import (
    LOGS,
    DirectPlace,
    DirectSink,
    DirectWriter,
    LogCommitter,
    LogSink,
    LogWriter,
    SinkPlace,
)

from millrace.common.sink import Committer, SinkWriter, WriterInitContext
from millrace.testing import Check, ConformanceError
from millrace.testing.connectors import check_sink, sink_checks, sinks


@pytest.mark.parametrize("check", [*sink_checks(SinkPlace), *sink_checks(DirectPlace)], ids=str)
def test_one_by_one(check: Check) -> None:
    check()
    assert not LOGS


class CommitsAgain(LogCommitter):
    """A commit that is repeated writes again."""

    def commit(self, committables: Sequence[Any]) -> None:
        LOGS[self.name].done.clear()
        super().commit(committables)


@dataclass(frozen=True)
class Twice(LogSink):
    def create_committer(self) -> Committer[Any]:
        return CommitsAgain(self.name)


class FirstOnly(LogCommitter):
    def commit(self, committables: Sequence[Any]) -> None:
        super().commit(committables[:1])


@dataclass(frozen=True)
class Loses(LogSink):
    def create_committer(self) -> Committer[Any]:
        return FirstOnly(self.name)


class SameMark(LogWriter):
    """All epochs of a subtask have one mark."""

    def prepare_commit(self) -> list[Any]:
        return [(mark[:2], texts) for mark, texts in super().prepare_commit()]


@dataclass(frozen=True)
class Confuses(LogSink):
    def create_writer(self, context: WriterInitContext) -> SinkWriter[str]:
        return SameMark(context)


class Keeps(DirectWriter):
    """Writes only when the input ends."""

    def flush(self, end_of_input: bool) -> None:
        if end_of_input:
            super().flush(True)


@dataclass(frozen=True)
class Late(DirectSink):
    def create_writer(self, context: WriterInitContext) -> SinkWriter[str]:
        return Keeps(self.name, context)


class Hurries(LogWriter):
    """Shows an element that is alone before a checkpoint covers it."""

    def __init__(self, context: WriterInitContext, name: str) -> None:
        super().__init__(context)
        self.name = name

    def end_slice(self, now: int) -> None:
        if len(self.texts) == 1:
            LOGS[self.name].append(self.texts[0])


@dataclass(frozen=True)
class Early(LogSink):
    def create_writer(self, context: WriterInitContext) -> SinkWriter[str]:
        return Hurries(context, self.name)


class Waits(DirectWriter):
    """Nothing is written before the epoch ends."""

    def end_slice(self, now: int) -> None: ...


@dataclass(frozen=True)
class Waiting(DirectSink):
    def create_writer(self, context: WriterInitContext) -> SinkWriter[str]:
        return Waits(self.name, context)


@pytest.mark.parametrize(
    ("sink", "told"),
    [
        (Twice, "are there more than once"),
        (Loses, "elements are lost"),
        (Confuses, "elements are lost"),
        (Late, "elements are lost"),
        (DirectSink, "are there more than once"),
    ],
)
def test_broken_ones_are_found_out(sink: Any, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "VISIBLE_SECONDS", 0.0)

    class Place(SinkPlace):
        sink_class = sink

    with pytest.raises(ConformanceError, match=told):
        check_sink(Place)


@pytest.mark.parametrize(("sink", "place", "told"), [
    (Early, SinkPlace, "to be seen when a slice ends, though no checkpoint covers it"),
    (Waiting, DirectPlace, "alone is not to be seen after 100 ms, while its epoch goes on"),
])  # fmt: skip
def test_slices_that_show_too_much_or_too_little(
    sink: Any, place: Any, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sinks, "VISIBLE_SECONDS", 0.0)

    class Place(place):  # type: ignore[misc]
        sink_class = sink

    (check,) = [check for check in sink_checks(Place) if "alone" in str(check)]
    with pytest.raises(AssertionError, match=told):
        check()


class Prepared(LogWriter):
    """Keeps what is prepared in the store, under its mark."""

    def __init__(self, context: WriterInitContext, name: str) -> None:
        super().__init__(context)
        self.name = name

    def prepare_commit(self) -> list[Any]:
        prepared = dict(super().prepare_commit())
        LOGS[self.name].prepared.update(prepared)
        return list(prepared)


class SweepsAll(Committer[Any]):
    """Aborts all that does not wait when it sweeps, of whatever epoch."""

    def __init__(self, name: str) -> None:
        self.name = name

    def commit(self, committables: Sequence[Any]) -> None:
        for mark in committables:
            for text in LOGS[self.name].prepared.pop(mark, ()):
                LOGS[self.name].append(text)

    def recover(self, job_id: str, committables: Sequence[Any], states: Sequence[Any]) -> None:
        prepared = LOGS[self.name].prepared
        for mark in prepared.keys() - set(committables):
            del prepared[mark]

    def sweep(self, job_id: str, epoch: int, committables: Sequence[Any], states: Sequence[Any]) -> None:
        self.recover(job_id, committables, states)


@dataclass(frozen=True)
class Greedy(LogSink):
    def create_writer(self, context: WriterInitContext) -> SinkWriter[str]:
        return Prepared(context, self.name)

    def create_committer(self) -> Committer[Any]:
        return SweepsAll(self.name)


def test_a_sweep_that_takes_back_what_the_next_epoch_has_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "VISIBLE_SECONDS", 0.0)

    class Place(SinkPlace):
        sink_class = Greedy

    (check,) = [check for check in sink_checks(Place) if str(check) == sinks.BESIDE]
    with pytest.raises(AssertionError, match="elements are lost"):
        check()


def test_a_sink_may_take_until_the_epoch_ends() -> None:
    class Place(DirectPlace):
        seen_after_ms = None
        sink_class = Waiting

    check_sink(Place)


def test_what_is_left_behind_is_told() -> None:
    class Untidy(SinkPlace):
        def left_over(self) -> list[str]:
            return ["transaction 7"]

    with pytest.raises(ConformanceError, match="left behind when the job ended: \\['transaction 7'\\]"):
        check_sink(Untidy)
