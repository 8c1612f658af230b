"""Keyed state on disk: what every backend has to do, with limits as they are and with tight ones."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.state.backend_suite import BackendMachine, BackendSuite, TimerMachine

from millrace.runtime.state.disk import (
    environment,
    list_table,
    map_table,
    state,
    stored_table,
    tables,
    timer_queue,
    writer,
)

TIGHT = [
    (tables, "READS", 2), (tables, "PIECE", 3), (tables, "TOGETHER", 2), (stored_table, "TOGETHER", 2),
    (list_table, "READS", 2), (list_table, "SMALL", 20), (list_table, "LONGEST", 3), (map_table, "LARGE", 2),
    (timer_queue, "READS", 2), (timer_queue, "PIECE", 2), (timer_queue, "TOGETHER", 2),
    (writer, "BATCH", 4), (state, "BATCH", 4), (state, "SPILL_ENTRIES", 3), (environment, "MAP_SIZE", 1 << 16),
]  # fmt: skip
"""So that few entries do what many would."""


class _Tight:
    def __init__(self) -> None:
        super().__init__()
        self._patch = pytest.MonkeyPatch()
        for module, name, value in TIGHT:
            self._patch.setattr(module, name, value)

    def teardown(self) -> None:
        try:
            super().teardown()  # type: ignore[misc]
        finally:
            self._patch.undo()


class OnDisk(BackendMachine):
    on_disk = True


class TightOnDisk(_Tight, BackendMachine):
    on_disk = True


class TimersOnDisk(TimerMachine):
    on_disk = True


class TightTimersOnDisk(_Tight, TimerMachine):
    on_disk = True


class TestOnDisk(BackendSuite):
    on_disk = True


class TestTightOnDisk(BackendSuite):
    on_disk = True

    @pytest.fixture(autouse=True)
    def _tight(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        for module, name, value in TIGHT:
            monkeypatch.setattr(module, name, value)


TestPrograms = OnDisk.TestCase
TestTightPrograms = TightOnDisk.TestCase
TestTimers = TimersOnDisk.TestCase
TestTightTimers = TightTimersOnDisk.TestCase
