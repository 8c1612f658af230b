"""The driver's side of an epoch in flow, with owners that are sockets of this test."""

from __future__ import annotations

import fcntl
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, cast

import pytest

from millrace.runtime.bases.epoch_protocol import Result, TaskAck, TaskSoFar, TaskTimes
from millrace.runtime.coordination.coordinator import EndedEpoch, EpochResult
from millrace.runtime.failure import Failure
from millrace.spark.jobs import flow_carrier
from millrace.spark.jobs.beside import Conclusion
from millrace.spark.jobs.flow_carrier import AHEAD_OF_TASK, LiveOutput, OwnerConnections, UnreachedError
from millrace.spark.workers.encryption import comes, takes
from millrace.spark.workers.flow_messages import (
    Acked,
    Alive,
    Ask,
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
    Reached,
    Taken,
    Told,
    Wanted,
)
from millrace.spark.workers.frames import OwnerReport, Stacks, receive, send
from millrace.spark.workers.pipe import OwnerLostError

TASKS = [(0, 0), (0, 1), (1, 0)]
ENDED = cast(EndedEpoch, "an epoch that has ended")
LONG = 1_000.0
"""seconds that no test waits"""


class Owners:
    """Two owners: what they are told, and what they say."""

    def __init__(
        self, early: bool = True, lease: float = 0.0, missed: tuple[str, ...] = (), silent: int | None = None
    ) -> None:
        pairs = [socket.socketpair(), socket.socketpair()]
        self.drivers = [driver for driver, _ in pairs]
        self.ends = [end for _, end in pairs]
        self.lines: list[str] = []
        self.collected: list[Result] = []
        self.has_room = True
        for number, end in enumerate(self.ends):
            send(end, Listening(f"/path/{number}"))
            if number != silent:
                send(end, Reached(missed if number else ()))
        self.so_far: list[TaskSoFar] = []
        self.limits: dict[int, int] = {}
        self.recorded = threading.Event()
        """lets the epoch before be recorded"""
        self.refused: list[Exception] = []
        self.before = Conclusion(self._record)
        given = LiveOutput(
            self.lines.extend,
            self.collected.extend if early else None,
            lambda: self.has_room,
            self._take_so_far,
            self.before,
        )
        self.links = OwnerConnections(self.drivers, TASKS, given, lease)
        peers = [self.told(number, Peers) for number in (0, 1)]
        self.secrets = {each.secret for each in peers}
        self.ahead = {each.ahead for each in peers}

    def _record(self, ended: EndedEpoch) -> EpochResult:
        self.recorded.wait()
        if self.refused:
            raise self.refused[0]
        return cast(EpochResult, "recorded")

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
        """the acknowledgements, or the error"""

        def run() -> None:
            try:
                found.append(self.links.run(3, "order", at_once, seconds, idle))
            except Exception as error:
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


@pytest.fixture
def leased() -> Iterator[Owners]:
    """Owners with a lease of two seconds."""
    made = Owners(lease=2.0)
    yield made
    made.links.end()
    for end in made.ends:
        end.close()


def test_an_owner_that_says_nothing_is_lost(leased: Owners) -> None:
    with leased.epoch() as result:
        speaks = threading.Event()

        def speak() -> None:
            while not speaks.wait(0.2):
                leased.say(0, Alive())

        talker = threading.Thread(target=speak)
        talker.start()
        error = result()
        speaks.set()
        talker.join()
    assert isinstance(error, OwnerLostError)
    assert "task 1 of stage 0 lives in has not answered for 2 s (millrace.flow.lease)" in str(error)


def test_owners_that_are_alive_have_time(leased: Owners) -> None:
    with leased.epoch() as result:
        for _ in range(15):
            for number in (0, 1):
                leased.say(number, Alive())
            time.sleep(0.2)
        leased.acknowledge()
        assert len(result()) == len(TASKS)


def test_the_driver_gives_signs_of_life(leased: Owners) -> None:
    for number in (0, 1):
        leased.ends[number].settimeout(30)
        assert leased.told(number, Alive) == Alive()


def test_an_owner_that_does_not_reach_another_is_named() -> None:
    with pytest.raises(UnreachedError, match=r"^a does not reach b \(1 more\)$"):
        Owners(missed=("a does not reach b", "a does not reach c"))


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("missed", "beside"), [((), ""), (("a does not reach b: timed out",), "; a does not reach b: timed out")]
)
def test_an_owner_that_says_nothing_at_the_meeting_is_named(
    missed: tuple[str, ...], beside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has not ended, as the message for a closed connection would say; what others say of it is told, too."""
    monkeypatch.setattr(flow_carrier, "MEETING_SECONDS", 0.5)
    with pytest.raises(OwnerLostError) as raised:
        Owners(missed=missed, silent=0)
    assert str(raised.value) == (
        "the process that task 0 of stage 0, task 0 of stage 1 lives in said nothing for 0.5 s while the processes "
        f"of the job connected to each other: it, its machine or the network stands still{beside}"
    )


@pytest.mark.timeout(30)
def test_the_meeting_of_many_owners_ends_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is that of all owners together, however many of them say nothing."""
    monkeypatch.setattr(flow_carrier, "MEETING_SECONDS", 1.0)
    pairs = [socket.socketpair() for _ in range(100)]
    given = LiveOutput(print, None, lambda: True, lambda found: {}, Conclusion(cast(Any, None)))
    with pytest.raises(OwnerLostError, match="said nothing for 1 s while the processes of the job connected"):
        OwnerConnections([driver for driver, _ in pairs], [(0, number) for number in range(100)], given, 10.0)
    for _, end in pairs:
        assert end.recv(1) == b""  # closed, so that the owners end
        end.close()


def test_connections_of_owners_that_do_not_meet_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The owners would wait for their first order else."""
    made: list[socket.socket] = []
    pair = socket.socketpair

    def noted() -> tuple[socket.socket, socket.socket]:
        made.extend(ends := pair())
        return ends

    monkeypatch.setattr(socket, "socketpair", noted)
    with pytest.raises(UnreachedError):
        Owners(missed=("a does not reach b",))
    drivers = made[0], made[2]
    assert [each.fileno() for each in drivers] == [-1, -1]


def test_connections_beyond_a_thousand_files_have_signs_of_life() -> None:
    here, there = socket.socketpair()
    high = socket.socket(fileno=fcntl.fcntl(here.fileno(), fcntl.F_DUPFD, 1_500))
    with here, there, high:
        assert takes(high)
        assert not comes(high)
        there.sendall(b"x")
        assert comes(high)


def test_owners_answer_while_an_epoch_runs(owners: Owners) -> None:
    with owners.epoch() as result:
        found: list[OwnerReport] = []
        asker = threading.Thread(target=lambda: found.extend(owners.links.look(Stacks(), 30.0)))
        asker.start()
        for number in (0, 1):
            question = owners.told(number, Ask)
            assert question.request == Stacks()
            owners.say(number, Told(question.number, OwnerReport("host", "executor", number)))
        asker.join()
        assert sorted(each.pid for each in found) == [0, 1]
        owners.acknowledge()
        result()


def test_owners_that_do_not_answer_are_left_out(owners: Owners) -> None:
    with owners.epoch() as result:
        found: list[OwnerReport] = []
        asker = threading.Thread(target=lambda: found.extend(owners.links.look(Stacks(), 0.5)))
        asker.start()
        question = owners.told(1, Ask)
        owners.say(1, Told(question.number, OwnerReport("host", "executor", 1)))
        asker.join()
        assert [each.pid for each in found] == [1]
        owners.told(0, Ask)
        owners.acknowledge()
        result()


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


@pytest.mark.parametrize(
    ("acknowledged", "first", "end"),
    [
        (10.005, 10.01, 10.1),  # as checkpoints are meant
        (10.03, 10.035, 10.105),  # long recorded: the checkpoint has to be due
        (10.5, 10.51, 10.575),
        (10.005, 10.08, 10.13),  # half its time at least
        (10.005, 10.2, 10.3),  # behind a rest
    ],
)
def test_the_end_of_an_epoch(owners: Owners, acknowledged: float, first: float, end: float) -> None:
    assert owners.links._end(first, 0.1) == first + 0.1  # the first one
    owners.links._ended_at, owners.links._acknowledged_at = 10.0, acknowledged
    assert owners.links._end(first, 0.1) == pytest.approx(end)


def test_epochs_have_their_time_from_one_end_to_the_next(owners: Owners) -> None:
    ended = []
    for _ in range(3):
        with owners.epoch(seconds=0.3) as result:
            time.sleep(0.1)
            owners.say(0, First(3))
            for number in (0, 1):
                assert owners.told(number, End) == End(3)
            ended.append(owners.links._ended_at)
            owners.acknowledge()
            result()
    assert all(later - one >= 0.3 for one, later in pairwise(ended))


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


def test_an_epoch_goes_on_until_the_one_before_is_recorded(owners: Owners, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow_carrier, "HELD_SECONDS", LONG)
    delivered: list[Any] = []
    owners.before.begin(ENDED, delivered.append)
    with owners.epoch(idle=0.0) as result:
        owners.say(0, Printed(("heard",)))
        until = time.monotonic() + 60
        while not owners.lines:
            assert time.monotonic() < until
            time.sleep(0.001)
        owners.ends[0].setblocking(False)
        with pytest.raises(BlockingIOError):
            owners.ends[0].recv(1)
        owners.ends[0].setblocking(True)
        assert not delivered
        owners.recorded.set()
        for number in (0, 1):
            assert owners.told(number, End) == End(3)
        assert delivered == ["recorded"]
        owners.acknowledge()
        assert len(result()) == len(TASKS)


@pytest.mark.parametrize("why", ["wanted", "finish", "too long"])
def test_an_epoch_may_end_before_the_one_before_is_recorded(
    owners: Owners, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow_carrier, "HELD_SECONDS", 0.01 if why == "too long" else LONG)
    delivered: list[Any] = []
    owners.before.begin(ENDED, delivered.append)
    with owners.epoch(idle=0.0) as result:
        if why == "wanted":
            owners.say(0, Wanted(3))
        elif why == "finish":
            owners.links.finish()
        for number in (0, 1):
            assert owners.told(number, End) == End(3)
        owners.acknowledge()
        assert len(result()) == len(TASKS)
    assert not delivered
    owners.recorded.set()
    owners.before.wait()
    assert delivered == ["recorded"]


def test_an_epoch_fails_if_the_one_before_cannot_be_recorded(owners: Owners) -> None:
    delivered: list[Any] = []
    owners.refused.append(OSError("the disk is full"))
    owners.before.begin(ENDED, delivered.append)
    with owners.epoch() as result:
        owners.recorded.set()
        assert result() is owners.refused[0]
    assert not delivered
    owners.before.wait()  # it was raised


def test_who_waits_for_what_is_recorded_gets_its_result_and_its_error(owners: Owners) -> None:
    delivered: list[Any] = []
    owners.before.wait()
    owners.recorded.set()
    owners.before.begin(ENDED, delivered.append)
    owners.before.wait()
    assert delivered == ["recorded"]
    owners.refused.append(OSError("the disk is full"))
    owners.before.begin(ENDED, delivered.append)
    with pytest.raises(OSError, match="the disk is full"):
        owners.before.wait()
    assert owners.before.look()
    assert delivered == ["recorded"]


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
