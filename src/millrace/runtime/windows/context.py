"""What assigners, triggers and window functions see of the operator; one object each per operator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millrace.common.functions import KeyedStateStore, ProcessWindowFunction
from millrace.common.state import StateDescriptor
from millrace.common.window import Trigger, WindowAssigner
from millrace.runtime.bases.base import Operator
from millrace.runtime.bases.contexts import OfOperator
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.keyed_states import KeyedStates


class AssignerContext(OfOperator, WindowAssigner.WindowAssignerContext): ...


class TriggerContext(OfOperator, Trigger.OnMergeContext):
    """Timers and state of the key and window at hand: ``enter`` says which."""

    def __init__(self, operator: Operator, backend: KeyedStateBackend) -> None:
        super().__init__(operator)
        self._event_timers = backend.event_timers
        self._processing_timers = backend.processing_timers
        self._states = backend.view()
        self._merged: list[Any] = []

    def enter(self, at: Scoped) -> None:
        self._at = self._states.at = at

    def merging(self, windows: Iterable[Any]) -> None:
        """``windows`` of the current key are becoming the current one."""
        key = self._at.key
        self._merged = [Scoped(key, window) for window in windows]

    def register_processing_time_timer(self, time: int) -> None:
        self._processing_timers.register(int(time), self._at)

    def register_event_time_timer(self, time: int) -> None:
        self._event_timers.register(int(time), self._at)

    def delete_processing_time_timer(self, time: int) -> None:
        self._processing_timers.delete(int(time), self._at)

    def delete_event_time_timer(self, time: int) -> None:
        self._event_timers.delete(int(time), self._at)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        return self._states.get_any(state_descriptor)

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        state = self._states.get_any(state_descriptor)
        if not hasattr(state, "absorb"):
            raise TypeError(
                f"state {state_descriptor.get_name()!r} can't be merged: only list, reducing and aggregating states can"
            )
        state.absorb(self._merged)


class WindowContext(OfOperator, ProcessWindowFunction.Context[Any]):
    """The key and window that the window function is called for: ``enter`` says which."""

    def __init__(self, operator: Operator, backend: KeyedStateBackend, merging: bool) -> None:
        super().__init__(operator)
        self._backend = backend
        self._merging = merging
        self._window: Any = None
        self._window_states: KeyedStates | None = None

    def enter(self, key: Any, window: Any) -> None:
        self._backend.at = key
        self._window = window
        if self._window_states is not None:
            self._window_states.at = Scoped(key, window)

    def window(self) -> Any:
        return self._window

    def window_state(self) -> KeyedStateStore:
        if self._merging:
            raise RuntimeError(
                "window_state() can't be used with merging windows such as sessions: state of a window would be lost "
                "when it merges; use global_state()"
            )
        if self._window_states is None:
            self._window_states = self._backend.view()
            self._window_states.at = Scoped(self._backend.at, self._window)
        return self._window_states

    def global_state(self) -> KeyedStateStore:
        return self._backend
