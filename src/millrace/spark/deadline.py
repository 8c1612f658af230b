"""An epoch that does not end: a function, a sink or a disk that hangs would stop a job without a word."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from types import TracebackType

from millrace.datastream.settings import options


class EpochTimeoutError(Exception):
    """An epoch took longer than ``millrace.epoch.timeout``."""


class Deadline:
    """Breaks an epoch off when its time is over, and tells what it was waiting for.

    :param timeout_ms: None: it has all the time in the world.
    :param break_off: is called on another thread; what runs inside shall raise then.
    :param waits_for: says what it waits for; is asked before.
    """

    def __init__(
        self, epoch: int, timeout_ms: int | None, break_off: Callable[[], None], waits_for: Callable[[], str]
    ) -> None:
        self._epoch = epoch
        self._timeout_ms = timeout_ms
        self._break_off = break_off
        self._waits_for = waits_for
        self._timer: threading.Timer | None = None
        self._missed: str | None = None

    def __enter__(self) -> Deadline:
        if self._timeout_ms is not None:
            self._timer = threading.Timer(self._timeout_ms / 1000, self._over)
            self._timer.daemon = True
            self._timer.start()
        return self

    def _over(self) -> None:
        missed = "Spark"
        with contextlib.suppress(Exception):
            missed = self._waits_for()
        self._missed = missed
        self._break_off()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if error is not None and self._missed is not None:
            raise EpochTimeoutError(
                f"epoch {self._epoch} did not end within {self._timeout_ms} ms ({options.EPOCH_TIMEOUT.key}): "
                f"it waits for {self._missed}"
            ) from None
