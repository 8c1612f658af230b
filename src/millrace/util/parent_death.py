"""Processes that end with the one that has started them, however that one ends: Linux sends them a signal."""

from __future__ import annotations

import os
import signal
import sys

__all__ = ["is_told", "signal_with"]

_SET_SIGNAL = 1
"""PR_SET_PDEATHSIG."""


def is_told() -> bool:
    """Whether this system tells a process that its parent has ended. Imports what ``signal_with`` needs."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes  # noqa: F401
    except ImportError:  # a Python that was built without
        return False
    return True


def signal_with(parent: int, number: signal.Signals) -> None:
    """Let this process, and what it becomes by ``exec``, get a signal when its parent ends; now, if it has ended.

    For children between ``fork`` and ``exec``, too, where the parent has called ``is_told``. The parent is the thread
    that has forked: only one that lasts as long as its process should.

    :param parent: its process.
    :raises OSError: the system refuses.
    """
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(_SET_SIGNAL, int(number), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        os.kill(os.getpid(), number)
