"""When expired entries are removed: on access, a few at each access, before a full snapshot."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from tests.runtime.state.ttl_model import TTL, Clock

from millrace.common.time import Duration
from millrace.common.typeinfo import Types
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.tables import ABSENT

INT = Types.INT()


def ttl() -> StateTtlConfig.Builder:
    return StateTtlConfig.new_builder(Duration.of_millis(TTL))


class Fixture:
    """A backend with one state, and a hand on its clock."""

    def __init__(self, descriptor: StateDescriptor, builder: StateTtlConfig.Builder) -> None:
        descriptor.enable_time_to_live(builder.build())
        self.clock = Clock()
        self.backend = KeyedStateBackend(self.clock.state_time())
        self.state: Any = self.backend.get_any(descriptor)

    def at(self, key: Any) -> Any:
        self.backend.at = key
        return self.state

    @property
    def rows(self) -> dict[Any, Any]:
        table = self.backend.table("s")
        assert table is not None
        return table.rows

    def pass_time(self, by: int = TTL) -> None:
        self.clock.processing += by


def values(builder: StateTtlConfig.Builder, count: int = 20) -> Fixture:
    """``count`` keys with a value each."""
    fixture = Fixture(ValueStateDescriptor("s", INT), builder)
    for key in range(count):
        fixture.at(key).update(key)
    return fixture


def test_keys_that_nobody_asks_for_disappear() -> None:
    fixture = values(ttl(), 100)
    fixture.pass_time()
    fixture.backend.delta()
    for _ in range(100 // 5 + 2):
        fixture.at("other").update(1)
    assert set(fixture.rows) == {"other"}
    (kind, changes) = fixture.backend.delta()["s"]
    assert kind == "TTL value"
    assert {key for key, change in changes.items() if change is ABSENT} == set(range(100)), "other copies follow"


def test_an_access_looks_at_a_few_entries_only() -> None:
    fixture = values(ttl().cleanup_incrementally(3, False))
    fixture.pass_time()
    left = []
    for _ in range(7):
        fixture.at("other").value()
        left.append(len(fixture.rows))
    assert left == [17, 14, 11, 8, 5, 2, 0]


def test_between_rounds_nothing_is_looked_at_until_something_can_expire() -> None:
    fixture = values(ttl().cleanup_incrementally(100, False))
    fixture.pass_time(1)
    fixture.at("other").value()  # a round that sees all 20
    fixture.pass_time(TTL - 2)
    looked_at: list[Any] = []
    table = fixture.backend.table("s")
    drop = table.drop  # type: ignore[union-attr]
    table.drop = lambda at, limit: looked_at.append(at) or drop(at, limit)  # type: ignore[union-attr, func-returns-value]
    fixture.at("other").value()
    assert looked_at == []
    fixture.pass_time(1)
    fixture.at("other").value()
    assert looked_at == list(range(20))
    assert fixture.rows == {}


def test_the_table_may_change_during_a_round() -> None:
    fixture = values(ttl().cleanup_incrementally(1, False), 4)
    fixture.pass_time(5)
    fixture.at(3).update(33)
    fixture.pass_time(5)
    fixture.at("other").value()
    fixture.at(1).clear()
    fixture.at("new").update(1)
    for _ in range(10):
        fixture.at("other").value()
    assert fixture.rows == {3: (1_005, 33), "new": (1_010, 1)}


def test_with_every_record_the_state_need_not_be_asked_for() -> None:
    fixture = values(ttl().cleanup_incrementally(2, True))
    fixture.pass_time()
    fixture.backend.after_records(3)
    assert len(fixture.rows) == 14
    other = values(ttl().cleanup_incrementally(2, False))
    other.pass_time()
    other.backend.after_records(3)
    assert len(other.rows) == 20


FULL = {
    "full snapshot": ttl().disable_cleanup_in_background().cleanup_full_snapshot(),
    "compaction": ttl().disable_cleanup_in_background().cleanup_in_rocksdb_compact_filter(1_000),
    "by default": ttl(),
}


@pytest.mark.parametrize("how", FULL)
def test_a_full_snapshot_leaves_out_what_has_expired(how: str) -> None:
    fixture = values(FULL[how])
    copy = pickle.loads(pickle.dumps(fixture.backend.delta()))
    fixture.pass_time(TTL - 1)
    fixture.at(7).update(70)
    fixture.pass_time(1)
    fixture.backend.before_full_snapshot()
    changes = fixture.backend.delta()["s"][1]
    assert fixture.backend.full() == {"s": ("TTL value", {7: (1_009, 70)})}
    follower = KeyedStateBackend(fixture.clock.state_time())
    follower.apply(copy)
    follower.apply({"s": ("TTL value", changes)})
    assert follower.full() == fixture.backend.full(), "a copy that only read the deltas is the same"


def test_without_cleanup_in_background_only_an_access_removes() -> None:
    fixture = values(ttl().disable_cleanup_in_background())
    fixture.pass_time()
    fixture.backend.before_full_snapshot()
    fixture.backend.after_records(1_000)
    assert fixture.at(3).value() is None
    assert set(fixture.rows) == set(range(20)) - {3}
    assert len(fixture.backend.full()["s"][1]) == 19


def test_what_may_be_returned_until_it_is_removed() -> None:
    fixture = values(ttl().return_expired_if_not_cleaned_up().disable_cleanup_in_background())
    fixture.pass_time()
    assert [fixture.at(3).value(), fixture.at(3).value()] == [3, None]
    other = values(ttl().return_expired_if_not_cleaned_up().cleanup_incrementally(20, False))
    other.pass_time()
    assert other.at(3).value() is None, "the cleanup came first"


def test_lists_and_maps_are_cleaned_element_by_element() -> None:
    words = Fixture(ListStateDescriptor("s", INT), ttl())
    counts = Fixture(MapStateDescriptor("s", INT, INT), ttl())
    for number in (1, 2, 3):
        words.at("a").add(number)
        counts.at("a").put(number, number)
        words.pass_time(4)
        counts.pass_time(4)
    words.backend.delta()
    counts.backend.delta()
    words.at("other").get()
    counts.at("other").is_empty()
    assert words.rows == {"a": [(1_004, 2), (1_008, 3)]}
    assert counts.rows == {"a": {2: (1_004, 2), 3: (1_008, 3)}}
    assert words.backend.delta() == {"s": ("TTL list", {"a": (0, [(1_004, 2), (1_008, 3)])})}
    assert counts.backend.delta() == {"s": ("TTL map", {"a": (False, {1: ABSENT}, [])})}


def test_reading_a_list_writes_it_anew_only_when_it_is_worth_it() -> None:
    fixture = Fixture(ListStateDescriptor("s", INT), ttl().disable_cleanup_in_background())
    state = fixture.at("a")
    state.add_all([1, 2])
    fixture.pass_time(1)
    state.add_all([3, 4, 5])
    fixture.pass_time(TTL - 1)
    fixture.backend.delta()
    state.add(6)
    assert list(state.get()) == [3, 4, 5, 6]
    assert fixture.backend.delta() == {"s": ("TTL list", {"a": (5, [(1_010, 6)])})}, "only what was added"
    fixture.pass_time(1)
    assert list(state.get()) == [6]
    assert fixture.backend.delta() == {"s": ("TTL list", {"a": (0, [(1_010, 6)])})}


def test_event_time_removes_what_the_watermark_has_left_behind() -> None:
    fixture = Fixture(ValueStateDescriptor("s", INT), ttl().use_event_time())
    fixture.clock.timestamp = 100
    fixture.at("a").update(1)
    fixture.clock.timestamp = 110
    assert fixture.at("a").value() is None
    fixture.clock.timestamp = 109
    assert fixture.at("a").value() == 1, "an element out of order still sees it"
    fixture.clock.watermark = 110
    assert fixture.at("a").value() is None
    assert fixture.rows == {}
