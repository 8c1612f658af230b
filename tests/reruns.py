"""In CI a test that fails is run once more, and the last lines of the run say so: three may, not more.

A gate of 23,000 tests, many of them with real servers and several processes, must not fall for one that a busy machine
has delayed at the wrong moment. By hand nothing is run again, so that a race is seen where it can be looked at.
"""

from __future__ import annotations

import pytest

MOST = 3
"""tests that may fail at first and then pass"""


class Reruns:
    """Counts the tests that did not pass at once."""

    def __init__(self) -> None:
        self.failures: list[tuple[str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome == "rerun":
            self.failures.append((report.nodeid, report.longreprtext))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if len(self.failures) > MOST and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for name, text in self.failures:
            terminalreporter.write_line(text)
            terminalreporter.write_line(f"NOT AT ONCE {name}: it failed and was run once more", yellow=True)
        if len(self.failures) > MOST:
            terminalreporter.write_line(f"more than {MOST} tests failed at first: so the run fails", red=True)
