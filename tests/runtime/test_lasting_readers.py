"""Readers live as long as their task; the driver tells them only what is new."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.runtime.jobs import Engine, job_of
from tests.runtime.listed import LIVES, ListedEnumerator, ListedSource

from millrace.common.source import SourceEvent
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.bases import epoch_protocol
from millrace.runtime.bases.epoch_protocol import EpochPlan, SourceOrder
from millrace.runtime.coordination import reading
from millrace.runtime.coordination.coordinator import Coordinator, EpochResult, JobFailedError
from millrace.runtime.coordination.reading import ReadingSnapshot


def reading_job(splits: list[list[Any]], records: int | None = 1, parallelism: int = 1) -> Any:
    def build(env: StreamExecutionEnvironment) -> Any:
        source = ListedSource("life", splits)
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "Listed").set_parallelism(parallelism)

    return job_of(build, records)


def collected(result: EpochResult) -> list[Any]:
    return [value for part in result.collected for value in pickle.loads(part)]


def to_end(engine: Engine) -> list[Any]:
    found: list[Any] = []
    while not engine.coordinator.finished:
        found += collected(engine.epoch())
    return found


def orders(engine: Engine, coordinator: Coordinator | None = None) -> list[SourceOrder]:
    """What the subtasks of the only source would be told now."""
    return source_orders((coordinator or engine.coordinator).plan())


def source_orders(plan: EpochPlan) -> list[SourceOrder]:
    return [order for own in plan.tasks.values() for order in own.sources.values()]


def test_one_reader_for_all_epochs() -> None:
    engine = Engine(reading_job([[1, 2], [3]]))
    assert to_end(engine) == [1, 2, 3]
    steps = LIVES["life"].told()
    assert steps == [
        "start", ("add", [("0", 1, 2), ("1", 3)]), ("complete", 1), ("complete", 2), ("complete", 3), "close"
    ]  # fmt: skip


def test_orders_carry_new_splits_only() -> None:
    engine = Engine(reading_job([[1, 2], [3]]))
    assert [split.split_id for split in orders(engine)[0].splits] == ["0", "1"]
    engine.epoch()
    assert orders(engine)[0].splits == ()


def test_a_reader_is_made_anew_from_the_tasks_own_state_after_a_failure() -> None:
    engine = Engine(reading_job([[1, "fail", 2], [3]]))
    assert collected(engine.epoch()) == [1]
    with pytest.raises(JobFailedError, match="disk on fire"):
        engine.epoch()
    LIVES["life"].steps.remove("close")
    engine.coordinator.restart()
    assert orders(engine)[0].splits == ()
    assert to_end(engine) == ["fail", 2, 3]
    assert ("add", [("0", "fail", 2), ("1", 3)]) in LIVES["life"].steps


def test_new_splits_are_sent_again_if_their_epoch_failed() -> None:
    engine = Engine(reading_job([["fail", 2]]))
    with pytest.raises(JobFailedError):
        engine.epoch()
    engine.coordinator.restart()
    assert to_end(engine) == ["fail", 2]


def test_a_copy_that_is_out_of_date_goes_on_where_the_other_was() -> None:
    engine = Engine(reading_job([[1, 2, 3, 4, 5, 6]]))
    assert [collected(engine.epoch(worker)) for worker in (0, 0, 1, 1, 0, 1)] == [[n] for n in range(1, 7)]


def test_another_driver_goes_on_with_the_same_tasks() -> None:
    engine = Engine(reading_job([[1, 2], [3], [4]], parallelism=2))
    engine.epoch()
    snapshot = pickle.loads(pickle.dumps(engine.coordinator.snapshot(1)))
    engine.coordinator = Coordinator(engine.job, lambda: 0, engine.storage)
    engine.coordinator.go_on(snapshot, 10)
    assert all(not order.splits for order in orders(engine))
    assert sorted(to_end(engine)) == [2, 4]


def test_a_checkpoint_of_0_1_has_its_splits_only_with_the_driver() -> None:
    left = ReadingSnapshot(None, False, {0: ("a", "b")}, frozenset(), frozenset(), {}, 1)
    assert (left.known(0), left.unknown(0)) == ([], ["a", "b"])
    assert replace(left, unsent={0: 1}).known(0) == ["a"]


# -- events -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ping(SourceEvent):
    number: int


def test_events_go_to_the_enumerator_and_back() -> None:
    engine = Engine(reading_job([[Ping(1), 1, 3], [2, Ping(2), 4]], parallelism=2))
    assert sorted(to_end(engine)) == [1, 2, 3, 4]
    life = LIVES["life"]
    assert sorted(life.sent, key=str) == [("subtask 0", Ping(1)), ("subtask 1", Ping(2))]
    assert [step for step in life.steps if "heard" in step] == [("heard", Ping(1)), ("heard", Ping(2))]


def heard(engine: Engine) -> list[Any]:
    """What the driver's last order says to the readers of the source."""
    return [list(order.events) for order in orders(engine)]


def test_events_outlive_failed_epochs_and_drivers() -> None:
    engine = Engine(reading_job([[Ping(1), 1, "fail", 2]]))
    engine.epoch()
    assert heard(engine) == [[Ping(1)]]
    assert heard(engine) == [[Ping(1)]], "the epoch of that order never came to its end"
    assert [event for _, event in LIVES["life"].sent] == [Ping(1)]
    engine = Engine(reading_job([[Ping(1), 1, 2]]))
    engine.epoch()
    snapshot = pickle.loads(pickle.dumps(engine.coordinator.snapshot(1)))
    engine.coordinator = Coordinator(engine.job, lambda: 0, engine.storage)
    engine.coordinator.go_on(snapshot, 10)
    assert heard(engine) == [[Ping(1)]]
    assert [event for _, event in LIVES["life"].sent] == [Ping(1)]


# -- handing out splits -------------------------------------------------------------------------------------------


def test_a_hundred_thousand_splits_are_handed_out_as_readers_need_them() -> None:
    splits = 100_000
    engine = Engine(reading_job([[n] for n in range(splits)], records=None, parallelism=4), workers=1)
    found: list[Any] = []
    most, epochs = 0, 0
    while not engine.coordinator.finished:
        plan = engine.coordinator.plan()
        most = max([most, *(len(pickle.dumps(order)) for order in source_orders(plan))])
        acks, packets = engine.tasks(plan)
        assert all(len(packet.payload) < 100_000 for packet in packets)
        found += collected(engine.coordinator.complete(plan, acks))
        epochs += 1
    assert sorted(found) == list(range(splits))
    assert most < 40 * reading.MOST_BACKLOG
    assert epochs < splits / 4 / reading.MOST_BACKLOG + 10, "a reader that needs more gets more"


def test_batch_mode_has_one_order_and_packs_it() -> None:
    splits = 20_000
    engine = Engine(reading_job([[n] for n in range(splits)], records=None, parallelism=2), workers=1)
    plan = engine.coordinator.plan(keep_state=False)
    assert not plan.order.keep_state
    assert len(pickle.dumps(plan)) < 25 * splits
    first, _ = source_orders(plan)
    assert first.splits == ()
    assert [int(split.split_id) for split in epoch_protocol.unpack(first.packed)] == list(range(0, splits, 2))
    result = engine.coordinator.complete(plan, engine.tasks(plan)[0])
    assert sorted(collected(result)) == list(range(splits))


def test_a_reader_may_ask_for_more_than_its_backlog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "FIRST_BACKLOG", 1)
    monkeypatch.setattr(reading, "MOST_BACKLOG", 1)
    engine = Engine(reading_job([["?", "?", 1, 2, 3], [4], [5], [6]], records=1))
    assert [split.split_id for split in orders(engine)[0].splits] == ["0"]
    engine.epoch()
    assert [split.split_id for split in orders(engine)[0].splits] == ["1", "2"]
    assert sorted(to_end(engine)) == [2, 3, 4, 5, 6]


def test_there_is_no_limit_for_splits_that_never_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ListedEnumerator, "splits_end", False)
    engine = Engine(reading_job([[n] for n in range(1_000)]))
    assert len(orders(engine)[0].splits) == 1_000


# -- the end ----------------------------------------------------------------------------------------------------------


def told_at_the_end(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    told: list[list[str]] = []

    def job_ended(self: ListedEnumerator, splits: Any) -> None:
        told.append([split.split_id for split in splits])
        raise OSError("the group is away")

    monkeypatch.setattr(ListedEnumerator, "job_ended", job_ended)
    return told


def test_the_enumerator_hears_of_the_end_once_and_cannot_fail_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    told = told_at_the_end(monkeypatch)
    engine = Engine(reading_job([[1, 2], [3]]))
    engine.epoch()
    assert told == []
    assert to_end(engine) == [2, 3]
    assert told == [[]]


def test_the_enumerator_hears_what_a_job_that_stops_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    told = told_at_the_end(monkeypatch)
    engine = Engine(reading_job([[1, 2], [3]]))
    engine.epoch()
    engine.coordinator.suspend()
    assert engine.coordinator.finished
    assert told == [["0", "1"]]
