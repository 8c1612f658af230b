"""The kit for state backends: ours pass it, and each of the broken ones is found out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.runtime.state.store.stores import SortedBackend, SortedStore, SqliteBackend

from millrace.datastream import CustomStateBackend, EmbeddedRocksDBStateBackend, HashMapStateBackend
from millrace.datastream.state_backend import KeyValueStateBackend, KeyValueStore, StorePlace
from millrace.runtime.state import kinds, tables
from millrace.testing import Check, ConformanceError, check_state_backend, state_backend_checks


@pytest.mark.parametrize("check", state_backend_checks(SqliteBackend), ids=str)
def test_one_by_one(check: Check) -> None:
    check()


@pytest.mark.parametrize("make", [HashMapStateBackend, EmbeddedRocksDBStateBackend])
def test_ours_pass(make: Any) -> None:
    assert check_state_backend(make) == [
        "state: A new task is empty, and has nothing of others",
        "state: Equal keys are one, others are not",
        "state: Many keys and large values",
        "state: A task is rebuilt from the changes of epochs",
        "state: A task is rebuilt from its whole state, and goes on",
        "state: Another backend can take over what this one writes",
        "state: Timers fire in order, once, and survive",
        "state: Random programs with epochs that end, fail and are written as a whole",
    ]


def test_stores_are_checked_byte_by_byte_too() -> None:
    names = check_state_backend(lambda: CustomStateBackend(SortedBackend()))
    assert [name for name in names if name.startswith("store: ")] == [
        "store: empty",
        "store: read your writes",
        "store: delete",
        "store: order",
        "store: last before",
        "store: left scans",
        "store: sizes",
        "store: apart",
        "store: random",
    ]


class ForgetsDeletions(SortedStore):
    def write(self, changes: Sequence[tuple[bytes, bytes | None]]) -> None:
        super().write([change for change in changes if change[1] is not None])


class WritesTheFirstOnly(SortedStore):
    def write(self, changes: Sequence[tuple[bytes, bytes | None]]) -> None:
        super().write(changes[:1])


class KeepsTheFirst(SortedStore):
    def write(self, changes: Sequence[tuple[bytes, bytes | None]]) -> None:
        super().write([(key, value) for key, value in changes if value is None or key not in self.values])


class EmptyIsNone(SortedStore):
    def get(self, key: bytes) -> bytes | None:
        return super().get(key) or None


class AfterTheStart(SortedStore):
    def scan(self, start: bytes) -> Iterator[tuple[bytes, bytes]]:
        return (item for item in super().scan(start) if item[0] != start)


class Unordered(SortedStore):
    def scan(self, start: bytes) -> Iterator[tuple[bytes, bytes]]:
        return ((key, value) for key, value in self.values.items() if key >= start)


class WithTheEnd(SortedStore):
    def last_before(self, end: bytes) -> tuple[bytes, bytes] | None:
        return super().last_before(end + b"\0")


class FirstBefore(SortedStore):
    def last_before(self, end: bytes) -> tuple[bytes, bytes] | None:
        return next(((key, value) for key, value in self.scan(b"") if key < end), None)


class OneScanOnly(SortedStore):
    def scan(self, start: bytes) -> Iterator[tuple[bytes, bytes]]:
        self.now = list(super().scan(start))
        while self.now:
            yield self.now.pop(0)


class Limited(SortedStore):
    def write(self, changes: Sequence[tuple[bytes, bytes | None]]) -> None:
        super().write([(key, None if value is None else value[:100_000]) for key, value in changes])


class AsText(SortedStore):
    def write(self, changes: Sequence[tuple[bytes, bytes | None]]) -> None:
        super().write([(key.rstrip(b"\0"), value) for key, value in changes])

    def get(self, key: bytes) -> bytes | None:
        return super().get(key.rstrip(b"\0"))


SHARED = SortedStore()


class Shared:
    """All tasks in one store."""

    def __new__(cls) -> Any:
        return SHARED


@pytest.mark.parametrize(
    ("store", "found_by"),
    [
        (ForgetsDeletions, "store: delete"),
        (WritesTheFirstOnly, "store: read your writes"),
        (KeepsTheFirst, "store: read your writes"),
        (EmptyIsNone, "store: read your writes"),
        (AfterTheStart, "store: order"),
        (Unordered, "store: order"),
        (WithTheEnd, "store: last before"),
        (FirstBefore, "store: last before"),
        (OneScanOnly, "store: left scans"),
        (Limited, "store: sizes"),
        (AsText, "store: order"),
        (Shared, "store: apart"),
    ],
)
def test_broken_stores_are_found_out(store: Any, found_by: str) -> None:
    class Backend(KeyValueStateBackend):
        def open_store(self, place: StorePlace) -> KeyValueStore:
            made: KeyValueStore = store()
            return made

    with pytest.raises(ConformanceError) as raised:
        check_state_backend(Backend)
    assert found_by in raised.value.failures
    assert found_by in str(raised.value)
    assert "Backend fails" in str(raised.value)


class NoAppend(tables.ListTable):
    """Says that the whole list is new, but gives the end only."""

    def delta(self) -> dict[Any, Any]:
        return {at: change if change is tables.ABSENT else (0, change[1]) for at, change in super().delta().items()}


class NeverRemoves(tables.ValueTable):
    def delta(self) -> dict[Any, Any]:
        return {at: value for at, value in super().delta().items() if value is not tables.ABSENT}


class LosesOrder(tables.MapTable):
    def entries(self) -> dict[Any, Any]:
        return {at: (True, dict(reversed(row.items())), []) for at, row in self.rows.items()}


class Shares(tables.ValueTable):
    everything: dict[Any, Any] = {}

    def __init__(self) -> None:
        super().__init__()
        self.rows = self.everything


@pytest.mark.parametrize(
    ("kind", "table", "found_by"),
    [
        ("list", NoAppend, "A task is rebuilt from the changes of epochs"),
        ("value", NeverRemoves, "Random programs with epochs"),
        ("map", LosesOrder, "A task is rebuilt from its whole state"),
        ("value", Shares, "A new task is empty"),
    ],
)
def test_broken_tables_are_found_out(kind: str, table: Any, found_by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kinds.TABLES, kind, table)
    with pytest.raises(ConformanceError, match=found_by):
        check_state_backend(HashMapStateBackend)
