"""UpsertSink: the last change of each key, written at the end of an epoch and now and then before."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.typeinfo import Types
from millrace.common.types import Row, RowKind
from millrace.connectors.sink_base import UpsertSink, UpsertTable
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_locally
from millrace.testing.connectors.runtime import Clock, ElementContext, SinkRun, WriterContext


@dataclass
class Store:
    values: dict[Any, Any] = field(default_factory=dict)
    calls: list[tuple[int, int]] = field(default_factory=list)
    opened: int = 0
    closed: int = 0


STORES: dict[str, Store] = {}


class Table(UpsertTable[Any]):
    def __init__(self, store: Store) -> None:
        self.store = store
        store.opened += 1

    def apply(self, upserts: Sequence[Any], deletes: Sequence[Any]) -> None:
        self.store.calls.append((len(upserts), len(deletes)))
        self.store.values.update({element[0]: element[1] for element in upserts})
        for key in deletes:
            self.store.values.pop(key, None)

    def close(self) -> None:
        self.store.closed += 1


class Pairs(UpsertSink[Any]):
    """(key, value), where no value deletes the key."""

    def __init__(self, store: str, batch_size: int = 10_000) -> None:
        super().__init__(batch_size)
        self.store = store

    def key_of(self, element: Any) -> Hashable:
        key: Hashable = element[0]
        return key

    def is_deletion(self, element: Any) -> bool:
        return element[1] is None

    def open_table(self) -> Table:
        return Table(STORES.setdefault(self.store, Store()))


class Rows(Pairs):
    def is_deletion(self, element: Any) -> bool:
        return UpsertSink.is_deletion(self, element)


pairs = st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers()), max_size=30)


@given(st.lists(pairs, max_size=5), st.sampled_from([1, 3, 100]), st.integers(0, 4))
def test_the_last_change_of_a_key_wins(
    epochs: list[list[tuple[int, int | None]]], batch_size: int, repeated: int
) -> None:
    store = STORES["last"] = Store()
    run = SinkRun(Pairs("last", batch_size))
    for number, epoch in enumerate(epochs):
        if number == repeated:
            run.epoch(epoch, crash="abort")  # written, then the epoch failed
        run.epoch(epoch)
    expected: dict[int, int] = {}
    for key, value in (pair for epoch in epochs for pair in epoch):
        if value is None:
            expected.pop(key, None)
        else:
            expected[key] = value
    assert store.values == expected
    assert all(upserts + deletes <= batch_size for upserts, deletes in store.calls)
    with_elements = [epoch for number, epoch in enumerate(epochs) if epoch for _ in range(1 + (number == repeated))]
    run.close()
    assert store.opened == store.closed <= 2, "another one only after the failure"
    if batch_size == 100:
        assert [sum(call) for call in store.calls] == [len({key for key, _ in epoch}) for epoch in with_elements]


class Sleepy(Pairs):
    """A store that closes connections on which nothing happens from one epoch to the next."""

    def open_table(self) -> Table:
        return SleepyTable(STORES[self.store])


class SleepyTable(Table):
    uses = 0

    def apply(self, upserts: Sequence[Any], deletes: Sequence[Any]) -> None:
        self.uses += 1
        if self.uses > 1 or (upserts and upserts[0][1] == "refused"):
            raise ConnectionError("closed")
        super().apply(upserts, deletes)


def test_a_connection_that_the_store_has_closed_is_replaced() -> None:
    store = STORES["sleepy"] = Store()
    run = SinkRun(Sleepy("sleepy"))
    for number in range(3):
        run.epoch([("key", number)])
        run.epoch([])
    assert store.values == {"key": 2}
    assert (store.opened, store.closed) == (3, 2)
    with pytest.raises(ConnectionError):
        run.epoch([("key", "refused")])
    assert (store.opened, store.closed) == (4, 4), "once is enough"


def test_kinds_of_rows() -> None:
    store = STORES["kinds"] = Store()
    run = SinkRun(Rows("kinds"))
    kinds = (RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.UPDATE_BEFORE, RowKind.DELETE)
    run.epoch([Row.of_kind(kind, kind.name, 1) for kind in kinds])
    assert store.values == {"INSERT": 1, "UPDATE_AFTER": 1}
    run.epoch([Row.of_kind(RowKind.UPDATE_BEFORE, "INSERT", 1), Row.of_kind(RowKind.UPDATE_AFTER, "INSERT", 2)])
    run.epoch([Row.of_kind(RowKind.DELETE, "UPDATE_AFTER", 1), ("plain", 3)])
    assert store.values == {"INSERT": 2, "plain": 3}


def test_in_a_program() -> None:
    STORES["program"] = Store()
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(3)
    pair = Types.TUPLE([Types.INT(), Types.INT()])
    stream = env.from_collection([(number % 7, number) for number in range(100)], pair)
    stream.key_by(lambda pair: pair[0]).sink_to(Pairs("program"))
    run_locally(env, epoch_records=9, workers=2, seed=1)
    assert STORES["program"].values == {number % 7: number for number in range(93, 100)}


def test_a_change_alone_is_written_after_a_while() -> None:
    store, clock = STORES.setdefault("slices", Store()), Clock()
    writer = Sleepy("slices").create_writer(WriterContext(0, 1, 1, clock))
    for number in range(2):
        writer.write(("key", number), ElementContext())
        writer.end_slice(clock.now + 99)
        assert len(store.calls) == number
        writer.end_slice(clock.now + 100)
        writer.end_slice(clock.now + 500)
        assert store.calls == [(1, 0)] * (number + 1)
    assert store.opened == 2, "one that is closed between two writes of an epoch is replaced, too"
    writer.flush(False)
    assert len(store.calls) == 2
    writer.close()
