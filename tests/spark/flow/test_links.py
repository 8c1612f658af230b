"""The driver's side of an epoch in flow, with owners that are sockets of this test."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from millrace.runtime.bases.epoch_protocol import Result, TaskAck, TaskSoFar, TaskTimes
from millrace.runtime.failure import Failure
from millrace.spark.jobs import flow_carrier
from millrace.spark.jobs.flow_carrier import AHEAD_OF_TASK, LiveOutput, OwnerConnections
from millrace.spark.workers.flow_messages import (
    Acked,
    Begin,
    Broken,
    Collected,
    End,
    EpochProgress,
    First,
    Limits,
    Listening,
    Peers,
    Printed,
    Taken,
    Wanted,
)
from millrace.spark.workers.frames import receive, send
from millrace.spark.workers.pipe import OwnerLostError

TASKS = [(0, 0), (0, 1), (1, 0)]
LONG = 1_000.0
"""seconds that no test waits"""


class Owners:
    """Two owners: what they are told, and what they say."""

    def __init__(self, early: bool = True) -> None:
        pairs = [socket.socketpair(), socket.socketpair()]
        self.drivers = [driver for driver, _ in pairs]
        self.ends = [end for _, end in pairs]
        self.lines: list[str] = []
        self.collected: list[Result] = []
        self.has_room = True
        for number, end in enumerate(self.ends):
            send(end, Listening(f"/path/{number}"))
        self.so_far: list[TaskSoFar] = []
        self.limits: dict[int, int] = {}
        given = LiveOutput(
            self.lines.extend,
            self.collected.extend if early else None,
            lambda: self.has_room,
            self._take_so_far,
        )
        self.links = OwnerConnections(self.drivers, TASKS, given)
        peers = [self.told(number, Peers) for number in (0, 1)]
        self.secrets = {each.secret for each in peers}
        self.ahead = {each.ahead for each in peers}

    def _take_so_far(self, tasks: Sequence[TaskSoFar]) -> dict[int, int]:
        self.so_far += tasks
        return self.limits

    def told(self, number: int, kind: type[Any]) -> Any:
        message, _ = receive(self.ends[number])
        assert isinstance(message, kind)
        return message

    def say(self, number: int, message: object) -> None:
        send(self.ends[number], message)

    def acknowledge(self) -> None:
        for stage, partition in TASKS:
            self.say(partition, Acked(TaskAck(7, stage, partition).encode()))

    @contextmanager
    def epoch(self, at_once: bool = False, seconds: float = LONG, idle: float = LONG) -> Iterator[Callable[[], Any]]:
        """An epoch runs meanwhile on another thread; what is given waits for what comes of it."""
        found: list[Any] = []

        def run() -> None:
            try:
                found.append(self.links.run(3, "order", at_once, seconds, idle))
            except OwnerLostError as error:
                found.append(error)

        def result() -> Any:
            thread.join(60)
            return found[0]

        thread = threading.Thread(target=run)
        thread.start()
        for number in (0, 1):
            assert self.told(number, Begin) == Begin(3, "order")
        yield result
        thread.join(60)
        assert found


@pytest.fixture
def owners() -> Iterator[Owners]:
    made = Owners()
    yield made
    made.links.end()
    for end in made.ends:
        end.close()


def test_owners_hear_of_each_other(owners: Owners) -> None:
    (secret,) = owners.secrets
    assert len(secret) >= 32
    assert owners.links.intact()


@pytest.mark.parametrize("why", ["at once", "finish", "wanted", "first", "idle"])
def test_an_epoch_ends_for_each_reason(owners: Owners, why: str) -> None:
    with owners.epoch(
        at_once=why == "at once", seconds=0.0 if why == "first" else LONG, idle=0.0 if why == "idle" else LONG
    ) as result:
        if why == "finish":
            owners.links.finish()
        elif why == "wanted":
            owners.say(1, Wanted(3))
        elif why == "first":
            owners.say(0, First(3))
        for number in (0, 1):
            assert owners.told(number, End) == End(3)
        assert owners.links.waits_for() == "task 0 of stage 0, task 1 of stage 0, task 0 of stage 1"
        owners.acknowledge()
        assert sorted((ack.stage, ack.partition) for ack in result()) == TASKS
    assert owners.links.intact()


def test_what_is_of_another_run_ends_nothing(owners: Owners) -> None:
    with owners.epoch() as result:
        owners.say(0, Wanted(2))
        owners.say(1, First(2))
        owners.acknowledge()  # as sources that came to their end
        assert len(result()) == len(TASKS)
    for end in owners.ends:
        end.setblocking(False)
        with pytest.raises(BlockingIOError):
            end.recv(1)


def test_lines_are_shown_as_they_come(owners: Owners) -> None:
    with owners.epoch() as result:
        owners.say(0, Printed(("a", "b")))
        owners.acknowledge()
        result()
    assert owners.lines == ["a", "b"]


def test_what_is_collected_is_given_and_credited_when_it_is_taken(owners: Owners) -> None:
    assert owners.ahead == {AHEAD_OF_TASK}
    with owners.epoch() as result:
        owners.has_room = False
        owners.say(1, Collected((0, 1), (b"a", b"b")))
        owners.say(1, Printed(("after",)))
        until = time.monotonic() + 60
        while not owners.lines:
            assert time.monotonic() < until
            time.sleep(0.001)
        assert owners.collected == [b"a", b"b"]
        owners.ends[1].setblocking(False)
        with pytest.raises(BlockingIOError):
            owners.ends[1].recv(1)  # the program has not taken what was there before
        owners.ends[1].setblocking(True)
        owners.has_room = True
        assert owners.told(1, Taken) == Taken((0, 1), 2)
        owners.acknowledge()
        result()


def test_a_job_that_restarts_collects_nothing_ahead() -> None:
    owners = Owners(early=False)
    assert owners.ahead == {0}
    owners.links.end()
    for end in owners.ends:
        end.close()


def test_a_task_that_fails_ends_the_epoch(owners: Owners) -> None:
    failure = Failure(operator="Map", subtask=0, origin="job.py:1", cause="no")
    with owners.epoch() as result:
        owners.say(0, Acked(TaskAck(7, 0, 0, failure=failure).encode()))
        (ack,) = result()
    assert ack.failure == failure


def test_an_owner_that_ends_is_named_by_its_tasks(owners: Owners) -> None:
    with owners.epoch() as result:
        owners.ends[1].close()
        error = result()
    assert "the process that task 1 of stage 0 lives in has ended" in str(error)
    assert not owners.links.intact()


def test_the_owner_that_has_ended_counts_more_than_what_another_one_says(owners: Owners) -> None:
    with owners.epoch() as result:
        owners.say(0, Broken("Traceback\nBrokenPipeError"))
        owners.ends[1].close()
        error = result()
    assert "the process that task 1 of stage 0 lives in has ended" in str(error)


def test_an_owner_that_cannot_go_on_says_why(owners: Owners, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow_carrier, "LOST_SECONDS", 0.0)
    with owners.epoch() as result:
        owners.say(0, Broken("Traceback\nConnectionError: the connection to owner 1 of the job was cut"))
        error = result()
    assert "could not go on: ConnectionError: the connection to owner 1 of the job was cut" in str(error)


def test_breaking_off_lets_an_epoch_raise(owners: Owners) -> None:
    with owners.epoch() as result:
        owners.links.break_off()
        error = result()
    assert isinstance(error, OwnerLostError)


def test_what_tasks_have_done_is_given_and_limits_go_to_all_owners(owners: Owners) -> None:
    done = TaskSoFar(0, 1, (), TaskTimes(pressed=1))
    with owners.epoch() as result:
        owners.say(1, EpochProgress(2, (TaskSoFar(1, 0, (), TaskTimes()),)))  # of an earlier run
        owners.say(1, EpochProgress(3, (done,)))
        owners.limits = {7: 100}
        owners.say(1, EpochProgress(3, (done,)))
        assert [owners.told(number, Limits) for number in (0, 1)] == [Limits(3, {7: 100})] * 2
        owners.acknowledge()
        assert len(result()) == len(TASKS)
    assert owners.so_far == [done, done]


def test_of_two_owners_that_could_not_go_on_neither_counts_as_killed(owners: Owners) -> None:
    with owners.epoch() as result:
        owners.say(0, Broken("Traceback\nCutError: a connection from another process of the job was cut"))
        owners.say(1, Printed(("a line",)))
        owners.say(1, Broken("Traceback\nCutError: the same"))
        owners.ends[1].close()
        assert "was cut" in str(result())
        assert "ended" not in str(result())
