"""``FlowTask`` by itself: what comes in which order, who has room, what an epoch is."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.programs import ListSource, Program, build, programs
from tests.runtime.jobs import elements_of, job_of, numbers

from millrace.common import Duration, WatermarkStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.functions import KeyedProcessFunction, MapFunction
from millrace.runtime import elements as pieces
from millrace.runtime.bases.epoch_protocol import (
    EpochOrder,
    EpochPlan,
    OperatorTimes,
    Result,
    TaskAck,
    TaskOrder,
    flowing,
    parts_of,
)
from millrace.runtime.elements import MOST_BRIEF, Chunk, PieceSize
from millrace.runtime.exchange.codec import encode
from millrace.runtime.exchange.exchange import LostPacketError, Packet
from millrace.runtime.exchange.flow_writer import Credit, EdgeMarks, EpochMark, FlowWriter
from millrace.runtime.failure import OperatorError
from millrace.runtime.operators import source
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.operators.source import LiveReader
from millrace.runtime.storage import MemoryStorage, TaskId
from millrace.runtime.tasks import wiring
from millrace.runtime.tasks.flow import LATE_NANOSECONDS, FlowError, FlowTask, Frame, Next
from millrace.runtime.tasks.flow_lanes import COST_FACTOR
from millrace.runtime.tasks.flow_worker import FlowWorker
from millrace.runtime.tasks.task import StageTask
from millrace.testing.flow import FlowEngine
from millrace.testing.local import LocalEngine
from millrace.testing.local import job_of as job_of_stream

SEEN: list[Any] = []
"""what functions got; they run in this process"""
OTHERS: list[Any] = []
INTO, OUT = 1, 2
"""the edges before and behind the middle stage; 0 is within the first one"""
INTO_OTHER, OUT_OTHER = 4, 5
"""those of the second pipeline, where there are two"""
FIRST = EpochOrder(1)
MUCH = 10**6


@pytest.fixture(autouse=True)
def _one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece is one element, however fast that was."""
    monkeypatch.setattr(pieces, "MOST_CALLED", 1)
    monkeypatch.setattr(source, "PieceSize", partial(PieceSize, 1))
    SEEN.clear()
    OTHERS.clear()


def seen(value: Any) -> Any:
    SEEN.append(value)
    return value


def other(value: Any) -> Any:
    OTHERS.append(value)
    return value


def same(value: Any) -> Any:
    return value


def three_stages(env: StreamExecutionEnvironment) -> DataStream:
    """A source with a function, another function, a third one that collects."""
    return numbers(env, range(10)).map(other).rebalance().map(seen).rebalance().map(same)


def two_pipelines(env: StreamExecutionEnvironment) -> DataStream:
    """The same twice, in the same tasks."""
    first = numbers(env, range(10)).map(seen).rebalance().map(seen).rebalance().map(same)
    return first.union(numbers(env, range(10)).map(other).rebalance().map(other).rebalance().map(same))


def task_of(
    job: JobGraph, stage: int, most: int = 16_384, timeout: int = 0, clock: Callable[[], int] = lambda: 0
) -> FlowTask:
    """The only task of a stage, which hands on what it has made behind each piece, if nothing else is said."""
    job = replace(job, buffer_timeout=timeout)
    task = StageTask(LocalEngine(job, clock)._load(), stage, 0, clock, 0, FlowWriter)
    task.open()
    return FlowTask(task, most=most, nanos=lambda: 0)


def plan_of(job: JobGraph) -> EpochPlan:
    return flowing(LocalEngine(job, lambda: 0).coordinator.plan(), aligned=False)


def reading(job: JobGraph) -> FlowTask:
    """The task of the sources, at the beginning of run 1."""
    flow, plan = task_of(job, 0), plan_of(job)
    flow.begin(plan.order, plan.of((0, 0)), 1)
    return flow


def settle(flow: FlowTask, now: int = 0) -> Next:
    """Let it do all that it can."""
    for _ in range(10_000):
        done = flow.step(now)
        if not done.more:
            return done
    raise AssertionError("it goes on for ever")


def packet(number: int, *values: Any, run: int = 1, edge: int = INTO) -> Packet:
    return Packet(0, edge, 0, number, encode(Chunk(list(values)), []), run)


def mark(packets: int, run: int = 1, edge: int = INTO) -> EpochMark:
    return EpochMark(0, edge, 0, run, packets)


def sent(flow: FlowTask, edge: int) -> list[Any]:
    """The elements on an edge so far."""
    return elements_of(frame for frame in flow.out if isinstance(frame, Packet) and frame.edge == edge)


def of_kind(flow: FlowTask, kind: type) -> list[Any]:
    return [frame for frame in flow.out if isinstance(frame, kind)]


# -- sources that say when they have something ------------------------------------------------------------------------


def test_a_source_that_is_woken_is_read_at_the_end_of_the_open_slice() -> None:
    soon: list[Callable[[], None]] = []
    job = replace(job_of(three_stages), buffer_timeout=1_000)
    task = StageTask(LocalEngine(job, lambda: 0)._load(), 0, 0, lambda: 0, 0, FlowWriter)
    task.open()
    flow = FlowTask(task, nanos=lambda: 0, call_soon=soon.append)
    plan = plan_of(job)
    flow.begin(plan.order, plan.of((0, 0)), 1)
    (lane,) = flow._sources.values()
    assert lane.operator.on_available is not None
    lane.operator.on_available()
    (wake,) = soon
    wake()
    assert lane.again_at == 0, "it has not waited"
    lane.again_at = 10**9
    wake()
    assert lane.again_at == 0, "the slice that is open ends at once when there is nothing to do"
    for beat, _, _ in flow._parcels:
        beat.ended(1_000, 50)
        beat.begin(1_500)
    lane.again_at = 10**9
    wake()
    assert lane.again_at == 1_000 + 20 * 50


def test_a_source_that_is_woken_rests_for_what_it_has_cost() -> None:
    soon: list[Callable[[], None]] = []
    clock = iter(range(0, 10**12, 1_000))  # each reading is 1,000 ns behind the one before
    job = replace(job_of(three_stages), buffer_timeout=0)
    task = StageTask(LocalEngine(job, lambda: 0)._load(), 0, 0, lambda: 0, 0, FlowWriter)
    task.open()
    flow = FlowTask(task, nanos=lambda: next(clock), call_soon=soon.append)
    plan = plan_of(job)
    flow.begin(plan.order, plan.of((0, 0)), 1)
    (lane,) = flow._sources.values()
    lane.turn(7)
    assert lane.not_before == 0, "it has more"
    lane._rest(100)
    assert lane.not_before == 100 + COST_FACTOR * 1_000
    lane.sent(500)
    assert lane.not_before == 100 + COST_FACTOR * 1_500, "to send it is a part of the cost"
    lane.again_at = 10**9
    flow._wake(lane)
    assert lane.again_at == lane.not_before
    lane.turn(200_000)
    lane._rest(200_000)
    assert lane.not_before == 200_000 + COST_FACTOR * 1_000, "of this time"


# -- buffer timeouts --------------------------------------------------------------------------------------------------


def buffered(timeout: int, own: int | None = None) -> FlowTask:
    """The middle one of three stages, which has got two elements and has room for all that it makes."""

    def program(env: StreamExecutionEnvironment) -> DataStream:
        middle = numbers(env, range(10)).rebalance().map(seen)
        if own is not None:
            middle.set_buffer_timeout(own)
        return middle.rebalance().map(same)

    flow = task_of(job_of(program), 1, timeout=timeout)
    flow.begin(FIRST, TaskOrder(), 1)
    flow.deliver(Credit(1, 0, 0, MUCH, 4 * MUCH))
    flow.deliver(packet(0, 1, 2, edge=0))
    return flow


@pytest.mark.parametrize("own", [None, 0, -1])
def test_what_is_gathered_leaves_by_the_timeout(own: int | None) -> None:
    """The environment's, or that of the operator if it has one."""
    for timeout in (0, -1):
        flow = buffered(timeout, own)
        counts = [1, 2] if (timeout if own is None else own) == 0 else [0, 0]
        for count in counts:
            flow.step(0)
            assert len(sent(flow, 1)) == count
        flow.deliver(mark(1, edge=0))
        assert settle(flow).ended
        assert sent(flow, 1) == [1, 2]


def test_a_timeout_of_some_ms_ends_when_there_is_nothing_to_do_or_it_is_over() -> None:
    flow = buffered(5)
    flow.step(0)
    assert sent(flow, 1) == []
    flow.step(5_000_000)
    assert sent(flow, 1) == [1, 2], "it is over behind the second piece"
    flow = buffered(1_000)
    settle(flow)
    assert sent(flow, 1) == [1, 2], "nothing is left to do"


# -- what is collected -------------------------------------------------------------------------------------------------


def collecting(ahead: int) -> FlowTask:
    """The last one of three stages, which has got four elements, a packet each."""
    job = job_of(three_stages)
    task = StageTask(LocalEngine(job, lambda: 0)._load(), 2, 0, lambda: 0, 0, FlowWriter)
    task.open()
    flow = FlowTask(task, nanos=lambda: 0, ahead=ahead)
    flow.begin(FIRST, TaskOrder(), 1)
    for number in range(4):
        flow.deliver(packet(number, number, edge=OUT))
    return flow


def unpickled(results: tuple[Result, ...]) -> list[Any]:
    return [value for part in parts_of(results) for value in pickle.loads(part)]


def test_what_is_collected_can_be_taken_while_the_epoch_goes_on() -> None:
    flow = collecting(ahead=2)
    assert settle(flow).pressed
    assert unpickled(flow.take_collected()) == [0, 1], "it wants no more before these are taken"
    assert settle(flow).pressed
    assert unpickled(flow.take_collected()) == [2, 3]
    assert not settle(flow).pressed
    assert flow.take_collected() == ()


def test_the_end_of_an_epoch_waits_for_nobody_who_takes() -> None:
    flow = collecting(ahead=1)
    settle(flow)
    flow.deliver(mark(4, edge=OUT))
    assert not settle(flow).ended
    flow.end()
    assert settle(flow).ended
    assert flow.take_collected() == (), "the rest is in what the task tells of the epoch"
    reports = [report for report in flow.task.reports() if report.collected]
    assert [unpickled(report.collected) for report in reports] == [[0, 1, 2, 3]]


def test_what_is_collected_stays_where_nobody_takes_it_early() -> None:
    flow = collecting(ahead=0)
    assert not settle(flow).pressed
    assert flow.take_collected() == ()


# -- epochs and runs --------------------------------------------------------------------------------------------------


def test_before_its_first_epoch_it_does_nothing() -> None:
    flow = task_of(job_of(three_stages), 1)
    flow.deliver(packet(0, 7))
    assert flow.step(0) == Next(False)
    assert SEEN == []
    assert not flow.wants_end
    assert not flow.has_read


def test_what_has_come_before_the_epoch_is_taken_when_it_begins() -> None:
    flow = task_of(job_of(three_stages), 1)
    flow.deliver(packet(0, 7))
    flow.deliver(packet(1, 8))
    flow.deliver(mark(2))
    flow.begin(FIRST, TaskOrder(), 1)
    flow.deliver(Credit(OUT, 0, 0, MUCH, MUCH))
    assert settle(flow).ended
    assert SEEN == [7, 8]
    assert sent(flow, OUT) == [7, 8]


def test_packets_of_a_later_run_wait_for_their_epoch() -> None:
    """Whoever sends has ended the epoch here, too, and begun the next one."""
    flow = task_of(job_of(three_stages), 1)
    flow.begin(FIRST, TaskOrder(), 5)
    flow.deliver(Credit(OUT, 0, 0, MUCH, MUCH))
    flow.deliver(packet(0, 1, run=5))
    flow.deliver(mark(1, run=5))
    flow.deliver(packet(0, 2, run=6))
    flow.deliver(packet(1, 3, run=6))
    flow.deliver(mark(2, run=6))
    assert settle(flow).ended
    assert SEEN == [1]
    flow.out.clear()
    flow.begin(EpochOrder(2), TaskOrder(), 6)
    assert settle(flow).ended
    assert SEEN == [1, 2, 3]
    assert {frame.run for frame in of_kind(flow, Packet)} == {6}
    packets = of_kind(flow, Packet)
    assert [frame.number for frame in packets] == list(range(len(packets))), "numbered anew"
    assert of_kind(flow, EpochMark) == [EpochMark(0, OUT, 0, 6, len(packets))]


@pytest.mark.parametrize("frame", [packet(0, 1, run=4), mark(0, run=4)], ids=["packet", "mark"])
def test_nothing_of_an_earlier_run_is_taken(frame: Frame) -> None:
    flow = task_of(job_of(three_stages), 1)
    flow.begin(FIRST, TaskOrder(), 5)
    with pytest.raises(FlowError, match="something of run 4 has come over edge 1 in run 5"):
        flow.deliver(frame)
    early = task_of(job_of(three_stages), 1)
    early.deliver(frame)
    with pytest.raises(FlowError, match="something of run 4 has come over edge 1 in run 5"):
        early.begin(FIRST, TaskOrder(), 5)
    assert SEEN == []


def test_a_second_mark_and_what_comes_behind_a_mark_are_errors() -> None:
    for wrong in (mark(1), packet(1, 2)):
        flow = task_of(job_of(three_stages), 1)
        flow.begin(FIRST, TaskOrder(), 1)
        flow.deliver(packet(0, 1))
        flow.deliver(mark(1))
        with pytest.raises(LostPacketError):
            flow.deliver(wrong)


def test_an_epoch_ends_when_its_marks_are_here_and_nothing_is_left() -> None:
    flow = task_of(job_of(two_pipelines), 1)
    flow.begin(FIRST, TaskOrder(), 1)
    for edge in (OUT, OUT_OTHER):
        flow.deliver(Credit(edge, 0, 0, MUCH, MUCH))
    flow.deliver(packet(0, 1))
    flow.deliver(mark(1))
    assert not settle(flow).ended, "the other channel has none"
    flow.end()
    assert not settle(flow).ended, "who has channels listens to them, not to the driver"
    assert of_kind(flow, EpochMark) == []
    flow.deliver(mark(0, edge=INTO_OTHER))
    assert settle(flow).ended
    assert SEEN == [1]
    assert sorted(of_kind(flow, EpochMark)) == [EpochMark(0, OUT, 0, 1, 1), EpochMark(0, OUT_OTHER, 0, 1, 0)]
    assert isinstance(flow.out[-1], EpochMark), "behind all packets"


@pytest.mark.parametrize("timeout", [0, -1], ids=["some lie at the gate", "all were gathered"])
def test_the_mark_waits_for_what_there_is_no_credit_for(timeout: int) -> None:
    flow = task_of(job_of(three_stages), 1, timeout=timeout)
    flow.begin(FIRST, TaskOrder(), 1)
    flow.deliver(packet(0, *range(6)))
    flow.deliver(mark(1))
    assert not settle(flow).ended
    assert sent(flow, OUT) == [0]
    assert SEEN == [0], "there is room for one"
    assert of_kind(flow, EpochMark) == []
    flow.deliver(Credit(OUT, 0, 0, 6, 100))
    assert settle(flow).ended
    assert sent(flow, OUT) == list(range(6))
    (last,) = of_kind(flow, EpochMark)
    assert last.packets == len(of_kind(flow, Packet))


# -- room -------------------------------------------------------------------------------------------------------------


def test_a_source_waits_for_credit_and_goes_on_with_it() -> None:
    flow = reading(job_of(three_stages))
    assert not settle(flow).more
    assert sent(flow, INTO) == [0], "room for one is there from the beginning"
    assert OTHERS == [0], "there is no room for a second one, so it is not read"
    flow.deliver(Credit(INTO, 0, 0, 4, 8))
    settle(flow)
    assert sent(flow, INTO) == [0, 1, 2, 3]
    assert all(len(elements_of([frame])) <= 2 for frame in of_kind(flow, Packet)), "four of them fill the room"
    assert len(OTHERS) == 4
    assert not flow.wants_end, "it has more to read"
    flow.deliver(Credit(INTO, 0, 0, MUCH, MUCH))
    settle(flow)
    assert sent(flow, INTO) == OTHERS == list(range(10))


def test_who_takes_gives_credit() -> None:
    """Never for less than it has given, and at most for so much more than it has taken as it has room for."""
    flow = task_of(job_of(three_stages), 1, most=3)
    flow.begin(FIRST, TaskOrder(), 1)
    flow.deliver(Credit(OUT, 0, 0, MUCH, MUCH))
    taken = 0
    for number in range(6):
        flow.deliver(packet(number, *range(number % 3 + 1)))
        settle(flow, 10 * number)
        taken += number % 3 + 1
        granted = max(credit.granted for credit in of_kind(flow, Credit))
        assert taken < granted <= taken + 3, "the sender can always go on"
    credits = of_kind(flow, Credit)
    assert [credit.granted for credit in credits] == sorted({credit.granted for credit in credits})
    assert {(credit.edge, credit.channel, credit.target) for credit in credits} == {(INTO, 0, 0)}
    assert {credit.room for credit in credits} <= {1, 2, 3}


def test_who_is_quick_gives_credit_for_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each of them it would cost more than what it saves."""
    monkeypatch.setattr(pieces, "MOST_CALLED", 1_024)
    flow = task_of(job_of(three_stages), 1)
    flow.begin(FIRST, TaskOrder(), 1)
    flow.deliver(Credit(OUT, 0, 0, MUCH, MUCH))
    for number in range(MOST_BRIEF):
        flow.deliver(packet(number, number))
        settle(flow, number * 1_000_000_000)
    credits = [credit for credit in of_kind(flow, Credit) if credit.edge == INTO]
    assert len(credits) <= 8
    assert all(credit.granted <= number + 1 + MOST_BRIEF for number, credit in enumerate(credits, MOST_BRIEF))


def test_a_blocked_edge_stops_only_the_sources_that_lead_to_it() -> None:
    flow = reading(job_of(two_pipelines))
    flow.deliver(Credit(INTO_OTHER, 0, 0, MUCH, MUCH))
    settle(flow)
    assert sent(flow, INTO) == SEEN == [0]
    assert sent(flow, INTO_OTHER) == OTHERS == list(range(10))
    flow.deliver(Credit(INTO, 0, 0, MUCH, MUCH))
    settle(flow)
    assert sent(flow, INTO) == SEEN == list(range(10))


def test_a_blocked_edge_stops_only_the_gates_that_lead_to_it() -> None:
    flow = task_of(job_of(two_pipelines), 1)
    flow.begin(FIRST, TaskOrder(), 1)
    flow.deliver(Credit(OUT_OTHER, 0, 0, MUCH, MUCH))
    for number in range(5):
        flow.deliver(packet(number, number))
        flow.deliver(packet(number, number, edge=INTO_OTHER))
    settle(flow)
    assert sent(flow, OUT) == SEEN == [0]
    assert sent(flow, OUT_OTHER) == OTHERS == list(range(5))
    assert max(credit.granted for credit in of_kind(flow, Credit) if credit.edge == INTO) < 5
    flow.deliver(Credit(OUT, 0, 0, MUCH, MUCH))
    settle(flow)
    assert sent(flow, OUT) == SEEN == list(range(5))


def test_a_blocked_branch_stops_what_feeds_both() -> None:
    """One stream goes over two edges: what waits for one of them is no more than one piece."""

    def build(env: StreamExecutionEnvironment) -> DataStream:
        stream = numbers(env, range(10)).map(seen)
        return stream.rebalance().map(same).union(stream.rescale().map(same))

    short, long = 1, 2
    flow = reading(job_of(build))
    flow.deliver(Credit(short, 0, 0, MUCH, MUCH))
    settle(flow)
    assert SEEN == sent(flow, short) == [0]
    assert sent(flow, long) == [0]
    flow.deliver(Credit(long, 0, 0, MUCH, MUCH))
    settle(flow)
    assert SEEN == sent(flow, short) == sent(flow, long) == list(range(10))


# -- the clock --------------------------------------------------------------------------------------------------------


class Later(KeyedProcessFunction):
    """Each element again, 5 ms later."""

    def process_element(self, value: int, ctx: Any) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 5)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield (ctx.get_current_key(), timestamp)


def keyed(number: int, value: int) -> Packet:
    return Packet(0, 0, 0, number, encode(Chunk([value], None, [value]), []), 1)


def test_timers_fire_by_the_clock_and_a_step_says_when_that_is() -> None:
    millis = [100]
    job = job_of(lambda env: numbers(env, range(10)).key_by(same).process(Later()).rebalance().map(same))
    flow = task_of(job, 1, clock=lambda: millis[0])
    flow.begin(FIRST, TaskOrder(), 1)
    flow.deliver(keyed(0, 7))
    flow.deliver(keyed(1, 8))
    done = settle(flow, now=3_000_000)
    assert (done.more, done.until) == (False, 8_000_000)
    millis[0] += 4
    assert settle(flow, now=7_000_000).until == 8_000_000
    assert sent(flow, 1) == []
    millis[0] += 1
    settle(flow, now=8_000_000)
    assert sent(flow, 1) == [(7, 105)], "there was room for one"
    flow.deliver(keyed(2, 9))
    millis[0] += 5
    assert settle(flow, now=13_000_000).until is None, "who may send nothing waits for credit, not for the clock"
    flow.deliver(Credit(1, 0, 0, MUCH, MUCH))
    assert settle(flow, now=13_000_000).until == 18_000_000, "the third one was not taken before"
    assert sorted(sent(flow, 1)) == [(7, 105), (8, 105)]
    millis[0] += 5
    settle(flow, now=18_000_000)
    assert sorted(sent(flow, 1)) == [(7, 105), (8, 105), (9, 115)]


# -- sources ----------------------------------------------------------------------------------------------------------


def test_a_source_that_has_read_its_records_wants_the_epoch_to_end() -> None:
    flow = reading(job_of(three_stages, epoch_records=3))
    flow.deliver(Credit(INTO, 0, 0, MUCH, MUCH))
    assert not flow.wants_end
    assert not flow.has_read
    settle(flow)
    assert flow.wants_end
    assert flow.has_read
    assert sent(flow, INTO) == OTHERS == [0, 1, 2]
    assert of_kind(flow, EpochMark) == [], "only the driver ends an epoch"
    flow.end()
    assert not flow.wants_end
    assert settle(flow).ended
    assert of_kind(flow, EpochMark) == [EpochMark(0, INTO, 0, 1, len(of_kind(flow, Packet)))]
    assert not flow.wants_end


def test_told_to_end_a_source_reads_no_more() -> None:
    flow = reading(job_of(three_stages))
    settle(flow)
    flow.end()
    flow.deliver(Credit(INTO, 0, 0, MUCH, MUCH))
    assert settle(flow).ended
    assert sent(flow, INTO) == OTHERS == [0]


# -- an aligned epoch -------------------------------------------------------------------------------------------------


def test_an_aligned_epoch_begins_when_all_of_it_is_here() -> None:
    flow = task_of(job_of(two_pipelines), 1)
    flow.begin(replace(FIRST, aligned=True), TaskOrder(), 1)
    flow.deliver(packet(0, 5, edge=INTO_OTHER))
    flow.deliver(mark(1, edge=INTO_OTHER))
    flow.deliver(packet(0, 1))
    assert settle(flow) == Next(False)
    assert SEEN == OTHERS == []
    flow.deliver(packet(1, 2))
    flow.deliver(mark(2))
    assert settle(flow).ended
    assert (SEEN, OTHERS) == ([1, 2], [5])
    assert sent(flow, OUT) == [1, 2], "without credit"
    assert of_kind(flow, Credit) == []


def without_times(ack: TaskAck) -> tuple[Any, ...]:
    reports = tuple(replace(report, times=OperatorTimes(), measures=None) for report in ack.reports)
    return ack.stage, ack.partition, ack.failure, ack.delta_bytes, reports


def acknowledged(engine: LocalEngine) -> list[list[tuple[Any, ...]]]:
    """For each epoch what the tasks say, in order."""
    told = []
    inner = engine.run_tasks

    def run_tasks(plan: EpochPlan) -> list[TaskAck]:
        acks = inner(plan)
        told.append(sorted(map(without_times, acks), key=lambda ack: ack[:2]))
        return acks

    engine.run_tasks = run_tasks  # type: ignore[method-assign]
    for _ in engine.epochs():
        pass
    return told


@given(programs(), st.integers(0, 1_000))
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=40)
def test_an_aligned_epoch_is_that_of_stages_that_run_one_after_the_other(program: Program, seed: int) -> None:
    """To the last element: a bounded job that ends in its first epoch has the changelog that it always has."""
    job = job_of_stream(build(program, StreamExecutionEnvironment()))
    in_flow = acknowledged(FlowEngine(job, lambda: 0, Random(seed), most=1))
    assert in_flow == acknowledged(LocalEngine(job, lambda: 0))
    assert len(in_flow) == 1


# -- the worker -------------------------------------------------------------------------------------------------------


class FailsAt(MapFunction):
    def __init__(self, bad: int) -> None:
        self.bad = bad

    def map(self, value: int) -> int:
        if value == self.bad:
            raise ValueError(f"no {value}")
        return value

    def close(self) -> None:
        SEEN.append("closed")


def worker_of(job: JobGraph, task: TaskId) -> FlowWorker:
    return FlowWorker(task, LocalEngine(job, lambda: 0)._load, MemoryStorage(), lambda: 0)


def failing(function: Callable[[StreamExecutionEnvironment], DataStream]) -> tuple[FlowWorker, EpochPlan]:
    job = job_of(function)
    return worker_of(job, (1, 0)), plan_of(job)


def fails_at_3(env: StreamExecutionEnvironment) -> DataStream:
    return numbers(env, range(10)).rebalance().map(FailsAt(3))


def test_a_failure_of_the_user_is_an_acknowledgement() -> None:
    worker, plan = failing(fails_at_3)
    worker.begin(plan.order, plan.of((1, 0)), 1)
    worker.deliver(packet(0, 1, 2, 3, 4, edge=0))
    assert worker.ack is None
    for _ in range(20):
        worker.step(0)
    ack = worker.ack
    assert ack is not None and ack.failure is not None
    assert (ack.epoch, ack.stage, ack.partition) == (plan.epoch, 1, 0)
    assert (ack.failure.operator, ack.failure.element, ack.failure.cause) == ("Map", "3", "ValueError: no 3")
    assert "test_flow.py" in ack.failure.origin
    assert SEEN == ["closed"]
    assert worker.step(0) == Next(False)
    assert worker.out == []


def test_a_lost_packet_is_an_acknowledgement_too() -> None:
    worker, plan = failing(fails_at_3)
    worker.begin(plan.order, plan.of((1, 0)), 1)
    worker.deliver(packet(1, 1, edge=0))
    assert worker.ack is not None and worker.ack.failure is not None
    assert worker.ack.failure.origin == "Millrace itself"
    assert "LostPacketError" in worker.ack.failure.cause


def test_a_worker_takes_what_comes_before_its_first_order() -> None:
    job = job_of(three_stages)
    worker, plan = worker_of(job, (1, 0)), plan_of(job)
    worker.deliver(packet(0, 7))
    worker.deliver(mark(1))
    worker.deliver(Credit(OUT, 0, 0, MUCH, MUCH))
    assert worker.step(0) == Next(False)
    worker.begin(plan.order, plan.of((1, 0)), 1)
    for _ in range(20):
        worker.step(0)
    assert SEEN == [7]
    ack = worker.ack
    assert ack is not None and ack.failure is None
    assert [report.records_in for report in ack.reports] == [1]
    assert {edge: tally.packets for edge, tally in ack.received.items()} == {INTO: 1}
    assert {edge: tally.packets for edge, tally in ack.sent.items()} == {OUT: len(list(packets_in(worker.out)))}


def packets_in(frames: list[Frame]) -> Iterator[Packet]:
    return (frame for frame in frames if isinstance(frame, Packet))


def test_what_is_sent_can_be_pickled() -> None:
    """Frames travel between processes."""
    frames: list[Frame] = [packet(0, 1), mark(1), Credit(OUT, 0, 0, 5, 5)]
    assert pickle.loads(pickle.dumps(frames)) == frames


# -- what a slow task puts off ---------------------------------------------------------------------------------------


def slow_task(behind: int = 5) -> tuple[FlowTask, EpochPlan]:
    """The middle task, with five elements and the mark behind them, of which it has taken two."""
    job = job_of(three_stages)
    flow, plan = task_of(job, 1), plan_of(job)
    flow.begin(plan.order, plan.of((1, 0)), 1)
    for number in range(behind):
        flow.deliver(packet(number, number))
    flow.deliver(Credit(OUT, 0, 0, MUCH, MUCH))
    while len(SEEN) < 2:
        flow.step(0)
    flow.deliver(mark(behind))
    return flow, plan


def next_epoch(flow: FlowTask, plan: EpochPlan) -> None:
    flow.out.clear()
    flow.begin(replace(plan.order, epoch=plan.epoch + 1), plan.of((1, 0)), 2)


def waiting(flow: FlowTask) -> int:
    return sum(len(member.gate.waiting) for member in flow.task.members)


def test_a_task_in_time_does_all_of_its_epoch() -> None:
    flow, _ = slow_task()
    assert settle(flow, LATE_NANOSECONDS - 1).ended
    assert (SEEN, waiting(flow)) == ([0, 1, 2, 3, 4], 0)


def test_what_a_slow_task_has_not_done_waits_for_the_next_epoch() -> None:
    flow, plan = slow_task()
    assert flow.step(0).more, "its time begins when the last mark is here"
    assert settle(flow, LATE_NANOSECONDS).ended
    assert (SEEN, sent(flow, OUT), waiting(flow)) == ([0, 1, 2], [0, 1, 2], 2)
    next_epoch(flow, plan)
    assert flow.has_read, "it has something to do, so the epoch is not idle"
    flow.deliver(packet(0, 5, run=2))
    settle(flow, LATE_NANOSECONDS)
    assert SEEN == [0, 1, 2, 3, 4, 5]
    flow.deliver(mark(1, run=2))
    assert settle(flow, LATE_NANOSECONDS).ended


def test_who_is_still_behind_in_the_next_epoch_does_not_hold_that_up() -> None:
    flow, plan = slow_task()
    flow.step(0)
    settle(flow, LATE_NANOSECONDS)
    next_epoch(flow, plan)
    flow.step(LATE_NANOSECONDS)
    flow.deliver(mark(0, run=2))
    assert settle(flow, LATE_NANOSECONDS + 1).ended, "no 250 ms more"
    assert (SEEN, waiting(flow)) == ([0, 1, 2, 3], 1)


def test_who_has_caught_up_has_his_time_again() -> None:
    flow, plan = slow_task()
    flow.step(0)
    settle(flow, LATE_NANOSECONDS)
    next_epoch(flow, plan)
    settle(flow, LATE_NANOSECONDS)
    assert (len(SEEN), waiting(flow)) == (5, 0)
    for number in range(3):
        flow.deliver(packet(number, number, run=2))
    flow.deliver(mark(3, run=2))
    assert settle(flow, LATE_NANOSECONDS + 1).ended
    assert (len(SEEN), waiting(flow)) == (8, 0)


def test_in_an_epoch_in_which_nothing_may_wait_nothing_is_put_off() -> None:
    """As of a job that is drained."""
    flow, _ = slow_task()
    assert flow._order is not None
    flow._order = replace(flow._order, work_millis=None)
    for now in range(20):
        flow.step(now * LATE_NANOSECONDS)
    assert (len(SEEN), waiting(flow)) == (5, 0)


def test_what_is_put_off_gives_credit_for_one_element() -> None:
    flow, _ = slow_task()
    flow.step(0)
    settle(flow, LATE_NANOSECONDS)
    credit = [frame for frame in of_kind(flow, Credit) if frame.edge == INTO][-1]
    assert credit.granted == 5 + 1


def test_what_is_put_off_is_state() -> None:
    """A task that is made of what was recorded goes on there."""
    flow, plan = slow_task()
    flow.step(0)
    settle(flow, LATE_NANOSECONDS)
    delta = flow.task.delta(anyway=True)
    assert delta is not None
    other = task_of(job_of(three_stages), 1)
    other.task.restore(pickle.loads(pickle.dumps(delta)))
    next_epoch(other, plan)
    other.deliver(Credit(OUT, 0, 0, MUCH, MUCH))
    settle(other, LATE_NANOSECONDS)
    assert SEEN == [0, 1, 2, 3, 4]


def test_what_waits_for_credit_goes_without_it_before_the_mark() -> None:
    """The receiver is slow, and may put it off: it has to have it."""
    job = job_of(lambda env: numbers(env, range(10)).rebalance().map(seen).flat_map(twice).rebalance().map(same))
    (into,), (out,) = ([e.index for e in job.edges if not e.local and job.edge_stages[e.index] == at] for at in (1, 2))
    flow, plan = task_of(job, 1), plan_of(job)
    flow.begin(plan.order, plan.of((1, 0)), 1)
    flow.deliver(packet(0, 7, edge=into))
    flow.deliver(mark(1, edge=into))
    assert not settle(flow).ended
    assert (sent(flow, out), of_kind(flow, EpochMark)) == ([7], [])
    assert settle(flow, LATE_NANOSECONDS).ended
    assert sent(flow, out) == [7, 7]
    assert isinstance(flow.out[-1], EpochMark) and flow.out[-1].packets == len(of_kind(flow, Packet))


def twice(value: Any) -> Iterator[Any]:
    yield value
    yield value


def test_without_state_nothing_is_put_off() -> None:
    job = job_of(three_stages)
    flow, plan = task_of(job, 1), plan_of(job)
    flow.begin(replace(plan.order, keep_state=False), plan.of((1, 0)), 1)
    flow.deliver(packet(0, 1, 2, 3))
    flow.deliver(Credit(OUT, 0, 0, MUCH, MUCH))
    flow.deliver(mark(1))
    for now in range(20):
        flow.step(now * LATE_NANOSECONDS)
    assert SEEN == [1, 2, 3]


@pytest.mark.parametrize(
    ("each_ms", "seen_in_first"), [(1, 250), (0, 300), (600, 1)], ids=["slow", "fast", "very slow"]
)
def test_an_aligned_epoch_of_slow_elements_is_short(
    each_ms: int, seen_in_first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    NOW[0] = 0
    monkeypatch.setattr(wiring, "perf_counter_ns", lambda: NOW[0] * 1_000_000)
    job = job_of(lambda env: numbers(env, range(300)).rebalance().map(partial(slow, each_ms)))
    engine = LocalEngine(job, lambda: 0)
    plan = flowing(engine.coordinator.plan(), aligned=True)
    task = StageTask(engine._load(), 1, 0, lambda: NOW[0], 0, FlowWriter)
    task.open()
    flow = FlowTask(task)
    flow.begin(plan.order, plan.of((1, 0)), 1)
    flow.deliver(packet(0, *range(300), edge=0))
    flow.deliver(mark(1, edge=0))
    assert settle(flow).ended
    assert len(SEEN) == seen_in_first


NOW = [0]
"""ms"""


def slow(ms: int, value: Any) -> Any:
    NOW[0] += ms
    return seen(value)


# -- watermark alignment within an epoch ------------------------------------------------------------------------------


def aligned_sources(env: StreamExecutionEnvironment) -> DataStream:
    aligned = WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment("g", Duration.of_millis(5))
    aligned = aligned.with_idleness(Duration.of_millis(500))
    elements = [(value, value) for value in range(100)]
    return env.from_source(ListSource(elements), aligned, "aligned").set_parallelism(1).rebalance().map(same)


def read_some(limit: int | None = None) -> tuple[FlowTask, int, int]:
    """A task whose source has read some of its elements, the source, and the edge behind it."""
    job = job_of(aligned_sources)
    flow, plan = task_of(job, 0, clock=partial(next, itertools.count(0, 1_000))), plan_of(job)
    ((id, reads),) = plan.of((0, 0)).sources.items()
    flow.begin(plan.order, replace(plan.of((0, 0)), sources={id: replace(reads, limit=limit)}), 1)
    edge = next(edge.index for edge in job.edges if not edge.local)
    flow.deliver(Credit(edge, 0, 0, 5, 8))
    settle(flow)
    assert sent(flow, edge) == list(range(5))
    return flow, id, edge


def has_room(flow: FlowTask, edge: int) -> None:
    flow.deliver(Credit(edge, 0, 0, MUCH, MUCH))
    settle(flow)


def test_a_source_that_is_ahead_waits_for_a_new_limit_and_not_for_the_next_epoch() -> None:
    flow, id, edge = read_some()
    flow.align({id: 2})
    has_room(flow, edge)
    flow.align({id: 1})
    settle(flow)
    flow.align({id + 1: 1_000})
    settle(flow)
    assert sent(flow, edge) == list(range(5)), "those limits are lower, and of another source"
    flow.align({id: 1_000})
    settle(flow)
    assert sent(flow, edge) == list(range(100))


def test_a_source_that_waits_for_others_is_not_idle() -> None:
    """The clock of these tests goes on by a second each time that it is looked at."""
    flow, id, _ = read_some()
    has_said = len(flow.out)
    for second in range(1, 5):
        flow.align({id: 2})
        settle(flow, second * 10**9)
    told = flow.so_far()
    assert told is not None
    assert next(each for each in told.reports if each.operator == id).holds_back
    assert len(flow.out) == has_said, "nothing is said of it below"


def test_a_reader_that_cannot_pause_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    flow, id, _ = read_some()

    def fail(self: object, ahead: frozenset[str]) -> None:
        raise OSError("it does not pause")

    monkeypatch.setattr(LiveReader, "leave_alone", fail)
    with pytest.raises(OperatorError, match=r"(?s)'Source: aligned'.*it does not pause"):
        flow.align({id: 2})


def test_a_source_that_waits_for_others_ends_its_epoch() -> None:
    flow, id, edge = read_some()
    flow.align({id: 2})
    has_room(flow, edge)
    flow.end()
    assert settle(flow).ended
    assert sent(flow, edge) == list(range(5))


def test_a_source_that_is_ahead_when_its_epoch_begins_waits() -> None:
    flow, id, edge = read_some()
    flow.end()
    settle(flow)
    reads = replace(plan_of(flow.task.job).of((0, 0)).sources[id], splits=(), packed=(), limit=2)
    flow.begin(EpochOrder(2), TaskOrder(sources={id: reads}), 2)
    has_room(flow, edge)
    assert sent(flow, edge) == list(range(5))
    flow.align({id: 1_000})
    settle(flow)
    assert sent(flow, edge) == list(range(100))


def test_a_source_that_stops_waits_for_nobody() -> None:
    flow, id, _ = read_some()
    flow.end()
    settle(flow)
    reads = replace(plan_of(flow.task.job).of((0, 0)).sources[id], splits=(), packed=(), limit=2, stop=True)
    flow.begin(EpochOrder(2), TaskOrder(sources={id: reads}), 2)
    settle(flow)
    flow.end()
    assert settle(flow).ended
    assert flow.task.finished


def test_what_is_done_so_far_can_be_told_in_an_epoch_only() -> None:
    flow, id, _ = read_some()
    told = flow.so_far()
    assert told is not None
    report = next(each for each in told.reports if each.operator == id)
    assert (report.records_out, report.holds_back) == (5, True)
    flow.end()
    settle(flow)
    assert flow.so_far() is None


def test_marks_of_all_senders_come_at_once_or_before_their_epoch() -> None:
    flow = task_of(job_of(three_stages), 1)
    flow.deliver_marks(EdgeMarks(INTO, 0, 1, ((0, 1),)))
    flow.deliver(packet(0, 7))
    with pytest.raises(LostPacketError, match="is behind 1 packets of run 1, 0 have come"):
        flow.begin(FIRST, TaskOrder(), 1)

    flow = task_of(job_of(three_stages), 1)
    flow.begin(FIRST, TaskOrder(), 1)
    flow.deliver(packet(0, 7))
    flow.deliver_marks(EdgeMarks(INTO, 0, 1, ((0, 1),)))
    assert settle(flow).ended
    flow.deliver_marks(EdgeMarks(INTO, 0, 2, ((0, 0),)))
    flow.begin(EpochOrder(2), TaskOrder(), 2)
    assert settle(flow).ended
    flow.begin(EpochOrder(3), TaskOrder(), 3)
    with pytest.raises(FlowError, match=r"run 2 .* in run 3"):
        flow.deliver_marks(EdgeMarks(INTO, 0, 2, ((0, 0),)))
