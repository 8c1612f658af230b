"""The harness between epochs: what timers do then is part of the next epoch, wherever the state is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.runtime.state.store.stores import SortedBackend

from millrace.common.typeinfo import Types
from millrace.datastream import EmbeddedRocksDBStateBackend, HashMapStateBackend, StateBackend
from millrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from millrace.runtime.state.disk.state import DiskState
from millrace.testing import OperatorHarness, check_variants
from millrace.testing.script import Element, ProcessingTime, Step


class Remembering(KeyedProcessFunction):
    """Keeps all in three states. A timer 10 ms after each element tells what there is, and adds to it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))
        self.all = runtime_context.get_list_state(ListStateDescriptor("all", Types.LONG()))
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.LONG(), Types.LONG()))

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 10)
        self.add(value[1])

    def add(self, number: int) -> None:
        self.last.update(number)
        self.all.add(number)
        self.counts.put(number % 3, (self.counts.get(number % 3) or 0) + 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), self.last.value(), list(self.all.get()), dict(self.counts.items())
        self.add(100 + timestamp)
        if timestamp % 20 == 0:
            self.all.clear()
            self.counts.remove(0)


def key_of(value: Any) -> Any:
    return value[0]


def harness(backend: StateBackend | None = None) -> OperatorHarness:
    return OperatorHarness.for_function(Remembering(), key_selector=key_of, state_backend=backend)


def script() -> Iterator[Step]:
    for number in range(8):
        yield Element(("ab"[number % 2], number))
        yield ProcessingTime(number * 7)


def test_variants_agree_on_what_fires_between_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    drafts = []
    begin = DiskState._begin_draft

    def noted(working: DiskState) -> bool:
        drafts.append(working)
        return begin(working)

    monkeypatch.setattr(DiskState, "_begin_draft", noted)
    outcome = check_variants(harness, list(script()), seed=1)
    assert len(outcome.values) > 4
    assert len(drafts) > 4, "the variants on disk have had timers between epochs"


def test_variants_notice_what_is_lost_when_the_next_epoch_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the next epoch began without what timers have changed."""
    end = DiskState._see_without_draft

    def forgets(working: DiskState, environment: Any) -> None:
        end(working, environment)
        for backend in working._backends.values():
            for stored in backend.stored().values():
                stored.forget()

    monkeypatch.setattr(DiskState, "_see_without_draft", forgets)
    with pytest.raises((AssertionError, KeyError)):
        check_variants(harness, list(script()), seed=1)


@pytest.mark.parametrize("backend", [HashMapStateBackend, EmbeddedRocksDBStateBackend, SortedBackend])
def test_state_can_be_looked_at_before_and_after(backend: type[StateBackend]) -> None:
    with harness(backend()) as running:
        running.process_element(("a", 1))
        running.snapshot_delta()
        running.set_processing_time(10)
        assert running.state_of("a", "all") == [1, 110]
        delta = running.snapshot_delta()
        assert running.state_of("a", "last") == 110
        assert delta is not None
        assert running.values == [("a", 1, [1], {1: 1})]
