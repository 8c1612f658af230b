"""Keyed state in memory."""

from __future__ import annotations

from tests.runtime.state.backend_suite import BackendMachine, BackendSuite, TimerMachine


class InMemory(BackendMachine):
    on_disk = False


class TimersInMemory(TimerMachine):
    on_disk = False


class TestInMemory(BackendSuite):
    on_disk = False


TestPrograms = InMemory.TestCase
TestTimers = TimersInMemory.TestCase
