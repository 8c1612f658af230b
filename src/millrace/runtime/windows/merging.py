"""Which windows of a key have merged, and under which window their contents are stored.

Contents don't move each time a session grows: they stay under the window that they were first stored for, its state
window, and only its name, the actual window, changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from millrace.common.state import MapState
from millrace.common.window import MergingWindowAssigner

OnMerge = Callable[[Any, list[Any], Any, list[Any]], None]
"""(merged window, windows that are gone, state window that stays, state windows to fold into it)"""


class MergingWindows:
    """The windows of the current key, by actual window, with their state windows."""

    def __init__(self, assigner: MergingWindowAssigner[Any, Any], mapping: MapState[Any, Any]) -> None:
        self._assigner = assigner
        self._mapping = mapping

    def state_window(self, window: Any) -> Any:
        """Where the contents of a window are, None if there is no such window any more."""
        return self._mapping.get(window)

    def retire(self, window: Any) -> None:
        """Forget a window."""
        self._mapping.remove(window)

    def add(self, new: Any, on_merge: OnMerge) -> Any:
        """Bring a window in: gives the window that it is now part of. ``on_merge`` is told of every merge first."""
        mapping = self._mapping
        known = dict(mapping.items())
        if new in known:
            return new
        merges = _Merges()
        self._assigner.merge_windows([*known, new], merges)
        actual = new
        for result, parts in merges.found:
            gone = [window for window in parts if window in known]
            if new in parts:
                actual = result
            if gone in ([], [result]):
                # Nothing but the new window changed: it lies within a window that is there, or is alone.
                continue
            stays, *folded = [known[window] for window in gone]
            on_merge(result, [window for window in gone if window != result], stays, folded)
            for window in gone:
                mapping.remove(window)
            mapping.put(result, stays)
        if not mapping.contains(actual):
            mapping.put(actual, actual)
        return actual


class _Merges(MergingWindowAssigner.MergeCallback[Any]):
    """Notes what the assigner merges."""

    def __init__(self) -> None:
        self.found: list[tuple[Any, list[Any]]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self.found.append((merge_result, list(to_be_merged)))
