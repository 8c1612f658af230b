"""Jobs in flow that are killed again and again: state on disk, state that expires by the clock, and rules that lead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.checkpoint.flow_jobs import Fate, FlowJob
from tests.checkpoint.jobs import collecting
from tests.endings import small_pieces
from tests.programs import LONG, ListSource
from tests.runtime.tasks import test_leading
from tests.runtime.tasks.test_leading import COUNT, DATA, from_another_task, from_the_same_task, rules_that_pass_tasks
from tests.seeds import seed_of

from millrace.common import Duration, WatermarkStrategy
from millrace.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor, StateTtlConfig, ValueStateDescriptor
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.state.disk.plan import OnDisk

SEED = seed_of("MILLRACE_FLOW_SEED")
SEEDS, MANY = 3, 200
LIVES = 300
"""more than any of these jobs has"""


class Aging(Fate):
    """Time goes by at each point, never while an element is processed."""

    job: FlowJob

    def __init__(self, draw: Random) -> None:
        super().__init__(draw.randint(10, 250))
        self._draw = draw

    def point(self) -> None:
        super().point()
        self.job.now += self._draw.choice([0, 0, 1])


def lives(job: JobGraph, directory: Path, draw: Random, end: float | None = None) -> list[Any]:
    """What all lives of a job give; the clock goes on from one to the next."""
    found: list[Any] = []
    now = 0
    for _ in range(LIVES):
        fate = Aging(draw)
        life = fate.job = FlowJob(job, directory, draw, fate, end)
        life.now = now
        found += life.live()
        now = life.now
        if life.coordinator.finished:
            return found
    raise AssertionError(f"it has not ended in {LIVES} lives")


def on(job: JobGraph, place: str, directory: Path) -> JobGraph:
    return job if place == "memory" else replace(job, state=OnDisk((str(directory / "state"),)))


# -- state that expires -----------------------------------------------------------------------------------------------

TTL, KEYS, RECORDS = 12, 6, 90
LIVES_SHORTLY = StateTtlConfig.new_builder(Duration.of_millis(TTL)).build()


def short_lived(descriptor: Any) -> Any:
    descriptor.enable_time_to_live(LIVES_SHORTLY)
    return descriptor


class Seeing(KeyedProcessFunction):
    """(key, number, the time, what each state has before it is written)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(short_lived(ValueStateDescriptor("count", LONG)))
        self.all = runtime_context.get_list_state(short_lived(ListStateDescriptor("all", LONG)))
        self.by_rest = runtime_context.get_map_state(short_lived(MapStateDescriptor("by rest", LONG, LONG)))
        self.ever = runtime_context.get_state(ValueStateDescriptor("ever", LONG))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        now, key = ctx.timer_service().current_processing_time(), ctx.get_current_key()
        seen = self.count.value(), tuple(self.all.get() or ()), tuple(sorted(self.by_rest.items())), self.ever.value()
        self.count.update((seen[0] or 0) + 1)
        self.all.add(value)
        self.by_rest.put(value // KEYS % 3, value)
        self.ever.update((seen[3] or 0) + 1)
        yield (key, value, now, *seen)


def expiring(env: StreamExecutionEnvironment) -> DataStream:
    """All of a key are read by one subtask, in order."""
    source = env.from_source(ListSource([(n, n) for n in range(RECORDS)]), WatermarkStrategy.no_watermarks(), "numbers")
    return source.set_parallelism(2).key_by(lambda value: value % KEYS, LONG).process(Seeing())


def seen_by(key: int, times: Sequence[tuple[int, int]]) -> Iterator[Any]:
    """What a key sees of lists that keep all that was ever written.

    :param times: (number, when it was processed).
    """
    written: list[tuple[int, int]] = []
    count, counted = 0, -TTL
    for value, now in times:
        count = count if now < counted + TTL else 0
        alive = [each for at, each in written if now < at + TTL]
        by_rest = {each // KEYS % 3: each for each in alive}
        yield key, value, now, count or None, tuple(alive), tuple(sorted(by_rest.items())), len(written) or None
        written.append((now, value))
        count, counted = count + 1, now


def check_expiring(seed: int, place: str, directory: Path) -> list[Any]:
    draw = Random(f"{seed} {place}")
    job = on(collecting(expiring, draw.randint(1, 3), epoch_records=None), place, directory)
    with small_pieces():
        found = lives(job, directory, draw)
    assert sorted(value for _, value, *_ in found) == list(range(RECORDS)), f"MILLRACE_FLOW_SEED={seed}"
    for key in range(KEYS):
        of_key = sorted(row for row in found if row[0] == key)
        expected = seen_by(key, [(value, now) for _, value, now, *_ in of_key])
        assert of_key == list(expected), f"MILLRACE_FLOW_SEED={seed}"
    return found


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_state_that_expires(place: str, tmp_path: Path) -> None:
    for seed in range(SEED, SEED + SEEDS):
        found = check_expiring(seed, place, tmp_path / str(seed))
        lost = sum(len(alive) < (ever or 0) for *_, alive, _, ever in found)
        assert 0 < lost < len(found), "some have expired, and some have not"


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("place", ["memory", "disk"])
def test_state_that_expires_many_times(place: str, tmp_path: Path) -> None:
    for seed in range(SEED, SEED + MANY):
        check_expiring(seed, place, tmp_path / str(seed))


# -- rules that lead --------------------------------------------------------------------------------------------------

LEADING = [from_another_task, from_the_same_task, rules_that_pass_tasks]


@pytest.mark.parametrize("program", LEADING)
@pytest.mark.parametrize("place", ["memory", "disk"])
def test_rules_lead_again_when_they_were_killed_meanwhile(
    program: Any, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rules are there before any data, at whatever point the lives before ended. There is so much data that it is
    not what ends the first epoch."""
    monkeypatch.setattr(test_leading, "DATA", range(100, 400))
    draw = Random(f"{SEED} {place}")
    job = on(collecting(program, 2, epoch_records=None), place, tmp_path)
    whole = Fate()
    FlowJob(job, tmp_path / "whole", draw, whole, end=0).live()
    assert whole.points > 50
    for dies_at in draw.sample(range(whole.points), 4):
        found = []
        for fate in (Fate(dies_at), Fate(dies_at // 2), Fate()):
            found += FlowJob(job, tmp_path / str(dies_at), draw, fate, end=0).live()
        assert sorted(found) == [(value, COUNT) for value in test_leading.DATA], (SEED, dies_at)


@pytest.mark.parametrize("program", LEADING)
def test_no_data_is_lost_where_rules_lead_and_epochs_end_anywhere(program: Any, tmp_path: Path) -> None:
    for seed in range(SEED, SEED + SEEDS):
        job = collecting(program, 2, epoch_records=None)
        found = lives(job, tmp_path / str(seed), Random(seed), end=0.05)
        assert Counter(value for value, _ in found) == Counter(DATA), f"MILLRACE_FLOW_SEED={seed}"
        assert all(count <= COUNT for _, count in found)
