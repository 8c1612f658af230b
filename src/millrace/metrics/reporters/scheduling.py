"""Reports the metrics of a running job, each reporter on a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime

from millrace.metrics.report import MetricEntry
from millrace.metrics.reporters.contract import PullReporter
from millrace.metrics.reporters.setup import ReporterSetup, setups

__all__ = ["ReporterThread", "Reporters"]

logger = logging.getLogger("millrace")

OPEN_SECONDS = 10.0
"""how long the start of a job waits for its reporters"""
CLOSE_SECONDS = 5.0
"""how long the end of a job waits for the last reports"""

Entries = Callable[[], Iterable[MetricEntry]]


class Reporters:
    """The reporters of one job, by its configuration."""

    def __init__(self, configuration: Mapping[str, str], job_name: str, entries: Entries) -> None:
        """:raises ValueError: the configuration describes a reporter that can't be."""
        self._threads = [ReporterThread(setup, entries) for setup in setups(configuration, job_name)]

    def open(self) -> None:
        """Begin to report.

        :raises ValueError: a reporter can't do with its configuration.
        """
        deadline = time.monotonic() + OPEN_SECONDS
        for thread in self._threads:
            thread.start()
        try:
            for thread in self._threads:
                thread.opened_by(deadline)
        except ValueError:
            self.close()
            raise

    def finish(self) -> None:
        """Begin the last report."""
        for thread in self._threads:
            thread.stop()

    def close(self) -> None:
        """Finish, and wait for it; a reporter that takes long is not waited for."""
        self.finish()
        deadline = time.monotonic() + CLOSE_SECONDS
        for thread in self._threads:
            thread.ended_by(deadline)


class ReporterThread:
    """Drives one reporter. Its first error is logged, and at its end how many there were."""

    def __init__(
        self,
        setup: ReporterSetup,
        entries: Entries,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        """:param wait: waits for some seconds; True if the reporter is to end."""
        self._setup = setup
        self._entries = entries
        self._clock = clock
        self._stopped = threading.Event()
        self._wait = wait or self._stopped.wait
        self._opened: Future[None] = Future()
        self._reports = self._failures = 0
        self._last = ""
        self._late = False
        self._thread = threading.Thread(target=self.run, name=f"metric reporter {setup.config.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def opened_by(self, deadline: float) -> None:
        """Wait until it is open. Raises ``ValueError`` if it can't be."""
        try:
            self._opened.result(max(0.0, deadline - time.monotonic()))
        except NotInTime:
            self._late = True
            logger.warning("metric reporter %r is not open yet; the job begins without it", self._setup.config.name)

    def stop(self) -> None:
        self._stopped.set()

    def ended_by(self, deadline: float) -> None:
        """Wait for its end."""
        if self._thread.ident is None:
            return
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._thread.is_alive():
            logger.warning("metric reporter %r has not sent its last report in time", self._setup.config.name)

    def run(self) -> None:
        """What the thread does: report, and wait, until the end."""
        if not self._open():
            return
        interval = self._setup.config.interval
        if isinstance(self._setup.reporter, PullReporter):
            self._stopped.wait()
        else:
            due = self._clock() + interval
            while not self._wait(max(0.0, due - self._clock())):
                self._report()
                due = max(due + interval, self._clock())  # what was missed is not made up for
            self._report()
        self._close()

    def _open(self) -> bool:
        reporter = self._setup.reporter
        try:
            reporter.open(self._setup.config)
            if isinstance(reporter, PullReporter):
                reporter.serve(lambda: self._setup.select(self._entries()))
        except ValueError as error:
            text = f"metric reporter {self._setup.config.name!r}: {self._setup.config.hidden(str(error))}"
            if self._late:
                logger.warning("%s", text)
            self._opened.set_exception(ValueError(text))
            return False
        except Exception as error:
            logger.warning("metric reporter %r does nothing: %s", self._setup.config.name, self._text(error))
            self._opened.set_result(None)
            return False
        self._opened.set_result(None)
        return True

    def _report(self) -> None:
        self._reports += 1
        try:
            self._setup.reporter.report(self._setup.select(self._entries()))
        except Exception as error:
            self._failures += 1
            self._last = self._text(error)
            if self._failures == 1:
                logger.warning("metric reporter %r failed, and goes on: %s", self._setup.config.name, self._last)

    def _close(self) -> None:
        name = self._setup.config.name
        try:
            self._setup.reporter.close()
        except Exception as error:
            logger.warning("metric reporter %r could not close: %s", name, self._text(error))
        if self._failures > 1:
            logger.warning(
                "metric reporter %r: %d of %d reports failed, the last: %s",
                *(name, self._failures, self._reports, self._last),
            )

    def _text(self, error: Exception) -> str:
        return self._setup.config.hidden(f"{type(error).__name__}: {error}")
