"""Peak memory of this process and all that it started."""

from __future__ import annotations

import contextlib
import threading

import psutil


class PeakMemory:
    """Samples the proportional set size (shared pages counted once) of the process tree while it is open."""

    def __init__(self, interval_seconds: float = 0.2) -> None:
        self.peak_mb = 0.0
        self._interval = interval_seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        root = psutil.Process()
        while not self._stop.wait(self._interval):
            total = 0
            for process in [root, *root.children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    total += process.memory_full_info().pss
            self.peak_mb = max(self.peak_mb, total / 1e6)
