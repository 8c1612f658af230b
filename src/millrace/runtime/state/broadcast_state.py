"""Broadcast state as user functions see it: for writing on the broadcast side, for reading on the other."""

from __future__ import annotations

from typing import Any

from millrace.common.state import BroadcastState, ReadOnlyBroadcastState
from millrace.runtime.state.keyed import HeapMapState


class HeapBroadcastState(HeapMapState, BroadcastState[Any, Any]):
    """A map of which every subtask holds a copy."""


class HeapReadOnlyBroadcastState(HeapMapState, ReadOnlyBroadcastState[Any, Any]):
    """A read-only view of a broadcast state's map. Values are not copied, so changing a value in place is an error of
    the user."""

    def put(self, key: Any, value: Any) -> None:
        raise self._refusal("put")

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        raise self._refusal("put_all")

    def remove(self, key: Any) -> None:
        raise self._refusal("remove")

    def clear(self) -> None:
        raise self._refusal("clear")

    def _refusal(self, method: str) -> RuntimeError:
        return RuntimeError(
            f"{method}() on broadcast state {self._backend.at!r}: only process_broadcast_element may change it; "
            f"elsewhere subtasks see different elements, so their copies would drift apart"
        )
