"""Assigners that a user writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest
from tests.common.window.contexts import AssignerContext

from millrace.common.serializer import TypeSerializer
from millrace.datastream.window import (
    EventTimeTrigger,
    MergingWindowAssigner,
    TimeWindow,
    TimeWindowSerializer,
    Trigger,
    WindowAssigner,
)


class ByDeadline(MergingWindowAssigner[int, TimeWindow]):
    """Elements wait for a deadline of their own; windows with one deadline are one."""

    def assign_windows(
        self, element: int, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        return [TimeWindow(timestamp, element)]

    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        together = list(windows)
        callback.merge(together, TimeWindow(min(together).start, together[0].end))

    def get_default_trigger(self, env: Any) -> Trigger[int, TimeWindow]:
        return EventTimeTrigger.create()

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


class Calls(MergingWindowAssigner.MergeCallback[TimeWindow]):
    def __init__(self) -> None:
        self.calls: list[tuple[list[TimeWindow], TimeWindow]] = []

    def merge(self, to_be_merged: Iterable[TimeWindow], merge_result: TimeWindow) -> None:
        self.calls.append((list(to_be_merged), merge_result))


def test_a_merging_assigner() -> None:
    assigner, calls = ByDeadline(), Calls()
    windows = [window for time in (3, 1) for window in assigner.assign_windows(9, time, AssignerContext())]
    assigner.merge_windows(windows, calls)
    assert calls.calls == [([TimeWindow(3, 9), TimeWindow(1, 9)], TimeWindow(1, 9))]


def test_an_assigner_has_to_be_complete() -> None:
    class Half(ByDeadline):
        merge_windows = MergingWindowAssigner.merge_windows

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]
