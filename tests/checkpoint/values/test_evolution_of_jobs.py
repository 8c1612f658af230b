"""A changed program goes on with the state that it had: fields come and go, numbers widen, or it tells why not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.checkpoint import evolving
from tests.checkpoint.jobs import SavedJob, collecting

from millrace.checkpoint.folder import RestoreError
from millrace.common import Row, Types
from millrace.datastream import (
    CheckpointedFunction,
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)


@pytest.fixture(autouse=True)
def _first_version() -> Iterator[None]:
    evolving.become(evolving.FIRST)
    yield
    evolving.become(evolving.FIRST)


class Keeps(KeyedProcessFunction):
    """Stores ``make(value)`` in one state, and shows what was stored before."""

    def __init__(self, descriptor: Any, make: Any) -> None:
        self.descriptor = descriptor
        self.make = make

    def open(self, runtime_context: Any) -> None:
        self.state: Any = runtime_context.keyed.get_any(self.descriptor)

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        kind = type(self.descriptor).__name__
        if kind.startswith("Value"):
            yield value, self.state.value()
            self.state.update(self.make(value))
        elif kind.startswith("List"):
            yield value, list(self.state.get())
            self.state.add(self.make(value))
        else:
            yield value, dict(self.state.items())
            self.state.put(f"of {value % 3}", self.make(value))


def keeping(descriptor: Any, make: Any) -> Any:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        values = env.from_sequence(0, 29).uid("values").set_parallelism(1)
        return values.key_by(lambda value: value % 3).process(Keeps(descriptor, make)).uid("keeps")

    return build


def first_results(before: Any, after: Any, tmp_path: Path, source: str = "savepoint") -> dict[int, Any]:
    """Run one program half, then the other; what the second found for each key."""
    first = SavedJob(collecting(before, 2), tmp_path / "first", 1)
    path = str(tmp_path / "saved")
    first.epoch()
    first.epoch()
    checkpoint = first.epoch(tmp_path / "saved").checkpoint
    assert checkpoint is not None
    second = SavedJob(collecting(after, 2), tmp_path / "second")
    second.restore(path if source == "savepoint" else checkpoint)
    results: dict[int, Any] = {}
    for value, found in second.finish():
        results.setdefault(value % 3, found)
    return results


LAST = {0: 12, 1: 13, 2: 14}
"""key -> the last value of the first 15"""
OLD = Types.ROW_NAMED(["name", "count", "gone"], [Types.STRING(), Types.INT(), Types.INT()])
NEW = Types.ROW_NAMED(["count", "new", "name"], [Types.LONG(), Types.STRING(), Types.STRING()])


def old_row(value: int) -> Row:
    return Row(name=f"n{value}", count=value, gone=0)


def new_row(value: int) -> Row:
    return Row(count=value, new="x", name=f"n{value}")


@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
def test_fields_of_rows(source: str, tmp_path: Path) -> None:
    before = keeping(ValueStateDescriptor("row", OLD), old_row)
    after = keeping(ValueStateDescriptor("row", NEW), new_row)
    found = first_results(before, after, tmp_path, source)
    assert found == {key: Row(count=value, new=None, name=f"n{value}") for key, value in LAST.items()}


@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
@pytest.mark.parametrize("ttl", [False, True])
def test_rows_in_lists_and_maps(ttl: bool, source: str, tmp_path: Path) -> None:
    def with_ttl(descriptor: Any) -> Any:
        if ttl:
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(_an_hour()).build())
        return descriptor

    for name, describe in {
        "list": lambda row: ListStateDescriptor("list", row),
        "map": lambda row: MapStateDescriptor("map", Types.STRING(), row),
    }.items():
        before = keeping(with_ttl(describe(OLD)), old_row)
        after = keeping(with_ttl(describe(NEW)), new_row)
        found = first_results(before, after, tmp_path / name, source)
        for key, last in LAST.items():
            rows = [Row(count=value, new=None, name=f"n{value}") for value in range(key, last + 1, 3)]
            assert found[key] == (rows if name == "list" else {f"of {key}": rows[-1]})


class KeepsWithoutKeys(MapFunction, CheckpointedFunction):
    """Stores ``make(value)`` in every kind of operator state, and shows what it was restored with."""

    def __init__(self, row: Any, make: Any) -> None:
        self.row = row
        self.make = make

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.mine = store.get_list_state(ListStateDescriptor("mine", self.row))
        self.all = store.get_union_list_state(ListStateDescriptor("all", self.row))
        self.shared = store.get_broadcast_state(MapStateDescriptor("shared", Types.INT(), self.row))
        self.before = [list(self.mine.get()), list(self.all.get()), [row for _, row in self.shared.items()]]

    def snapshot_state(self, context: Any) -> None:
        """All of it is in the state already."""

    def map(self, value: int) -> Any:
        row = self.make(value)
        self.mine.add(row)
        self.all.add(row)
        self.shared.put(value, row)
        return value, self.before


def keeping_without_keys(row: Any, make: Any) -> Any:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        values = env.from_sequence(0, 29).uid("values").set_parallelism(1)
        return values.map(KeepsWithoutKeys(row, make)).set_parallelism(1).uid("keeps")

    return build


@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
def test_rows_in_operator_state(source: str, tmp_path: Path) -> None:
    before, after = keeping_without_keys(OLD, old_row), keeping_without_keys(NEW, new_row)
    rows = [Row(count=value, new=None, name=f"n{value}") for value in range(15)]
    assert first_results(before, after, tmp_path, source) == {key: [rows, rows, rows] for key in range(3)}


def test_operator_state_of_another_type_is_refused(tmp_path: Path) -> None:
    before, after = keeping_without_keys(Types.INT(), int), keeping_without_keys(Types.STRING(), str)
    with pytest.raises(RestoreError, match=r"INT can't become STRING"):
        first_results(before, after, tmp_path)


def _an_hour() -> Any:
    from millrace.common import Time

    return Time.hours(1)


def test_whole_numbers_become_floats(tmp_path: Path) -> None:
    before = keeping(ValueStateDescriptor("n", Types.INT()), int)
    after = keeping(ValueStateDescriptor("n", Types.DOUBLE()), float)
    found = first_results(before, after, tmp_path)
    assert found == LAST
    assert {type(value) for value in found.values()} == {float}


def account(value: int) -> Any:
    return evolving.Account(owner=f"o{value}", amount=value)


def describe_accounts() -> Any:
    return ValueStateDescriptor("account", Types.PICKLED_BYTE_ARRAY())


def test_fields_of_dataclasses(tmp_path: Path) -> None:
    first = SavedJob(collecting(keeping(describe_accounts(), account), 2), tmp_path / "first")
    for _ in range(2):
        first.epoch()
    first.epoch(tmp_path / "saved")
    evolving.become(evolving.LATER)
    second = SavedJob(collecting(keeping(describe_accounts(), account), 3), tmp_path / "second")
    second.restore(str(tmp_path / "saved"))
    found: dict[int, Any] = {}
    for value, before in second.finish():
        found.setdefault(value % 3, before)
    assert found == {key: evolving.Account(amount=value, owner=f"o{value}") for key, value in LAST.items()}
    assert found[0].tags == [] and found[0].limit == 100 and not hasattr(found[0], "note")


def test_a_new_field_without_default_is_refused(tmp_path: Path) -> None:
    first = SavedJob(collecting(keeping(describe_accounts(), account), 2), tmp_path / "first")
    first.epoch(tmp_path / "saved")
    evolving.become(evolving.NEEDY)
    second = SavedJob(collecting(keeping(describe_accounts(), account), 2), tmp_path / "second")
    with pytest.raises(RestoreError, match=r"state 'account'.*Account.*'currency'"):
        second.restore(str(tmp_path / "saved"))


@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
def test_incompatible_changes_are_refused(source: str, tmp_path: Path) -> None:
    before = keeping(ValueStateDescriptor("s", Types.INT()), int)
    changes = {
        r"INT can't become STRING": ValueStateDescriptor("s", Types.STRING()),
        r"was a value state and is a list state": ListStateDescriptor("s", Types.INT()),
    }
    for number, (message, descriptor) in enumerate(changes.items()):
        with pytest.raises(Exception, match=message):
            first_results(before, keeping(descriptor, str), tmp_path / str(number), source)
    expiring = ValueStateDescriptor("s", Types.INT())
    expiring.enable_time_to_live(StateTtlConfig.new_builder(_an_hour()).build())
    with pytest.raises(Exception, match="time to live"):
        first_results(before, keeping(expiring, int), tmp_path / "ttl", source)
