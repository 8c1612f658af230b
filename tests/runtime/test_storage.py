"""``MemoryStorage``: versions are copies, and go when they are discarded."""

from __future__ import annotations

import pytest

from millrace.runtime.storage import NO_PAST, MemoryStorage, Past


def test_versions_are_copies() -> None:
    storage, delta = MemoryStorage(), {"a": [1]}
    assert storage.write_delta((0, 0), 1, NO_PAST, delta).size > 0
    delta["a"].append(2)
    found = storage.read_delta((0, 0), 1)
    assert found == {"a": [1]}
    found["a"].clear()
    assert storage.read_delta((0, 0), 1) == {"a": [1]}


def test_what_is_not_there() -> None:
    storage = MemoryStorage()
    storage.write_delta((0, 0), 1, NO_PAST, "delta")
    with pytest.raises(KeyError):
        storage.read_full((0, 0), 1)
    for task, epoch in (((0, 0), 2), ((0, 1), 1)):
        with pytest.raises(KeyError):
            storage.read_delta(task, epoch)


def test_discard_takes_one_task_before_an_epoch() -> None:
    storage = MemoryStorage()
    for task in ((0, 0), (0, 1)):
        for epoch in (1, 2):
            storage.write_delta(task, epoch, Past((epoch - 1,), False), epoch)
            storage.write_full(task, epoch, [epoch, -epoch])
    storage.discard((0, 0), 2)
    assert len(storage) == 6
    with pytest.raises(KeyError):
        storage.read_full((0, 0), 1)
    assert list(storage.read_full((0, 0), 2)) == [2, -2]
    assert storage.read_delta((0, 0), 2) == 2
    assert storage.read_past((0, 0), 2) == Past((1,), False)
    assert storage.read_delta((0, 1), 1) == 1
