"""A trigger that never fires."""

from __future__ import annotations

from typing import TypeVar

from millrace.common.window.quiet_trigger import QuietTrigger
from millrace.common.window.trigger import Trigger
from millrace.common.window.windows import GlobalWindow

__all__ = ["NeverTrigger"]

T = TypeVar("T")
"""Type of the elements."""


class NeverTrigger(QuietTrigger[T, GlobalWindow]):
    """Never fires: the default of ``GlobalWindows``, which therefore need another trigger.

        >>> isinstance(GlobalWindows.create().get_default_trigger(env), NeverTrigger)
        True
    """

    def on_merge(self, window: GlobalWindow, ctx: Trigger.OnMergeContext) -> None:
        return None
