"""When reporters report, and what happens when they fail or hang."""

from __future__ import annotations

import logging
import time

import pytest
from tests.metrics.reporters import own
from tests.metrics.reporters.samples import COUNTER, EPOCHS, setup

from millrace.metrics.reporters import scheduling
from millrace.metrics.reporters.scheduling import Reporters, ReporterThread

OWN = "tests.metrics.reporters.own"


class Time:
    """A clock that moves when it is waited for; each report takes ``takes`` seconds."""

    def __init__(self, until: float) -> None:
        self.now = 0.0
        self.until = until

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        if self.now + seconds > self.until:
            return True
        self.now += seconds
        return False


def test_the_interval_and_the_last_report() -> None:
    one = setup(f"{OWN}:Keeps", interval="10 s")
    clock = Time(until=35)
    at: list[float] = []

    def entries() -> list[object]:
        at.append(clock.now)
        return []

    ReporterThread(one, entries, clock, clock.wait).run()  # type: ignore[arg-type]
    assert at == [10, 20, 30, 30]
    assert isinstance(one.reporter, own.Keeps) and one.reporter.closed == 1


def test_reports_that_take_long_are_not_made_up_for() -> None:
    one = setup(f"{OWN}:Keeps", interval="10 s")
    clock = Time(until=60)
    at: list[float] = []

    def entries() -> list[object]:
        at.append(clock.now)
        if len(at) == 1:
            clock.now += 25
        return []

    ReporterThread(one, entries, clock, clock.wait).run()  # type: ignore[arg-type]
    assert at == [10, 35, 45, 55, 55]


def test_the_end_of_a_job_is_reported() -> None:
    one = setup(f"{OWN}:Keeps", interval="1 h")
    thread = ReporterThread(one, lambda: [COUNTER, EPOCHS])
    thread.start()
    thread.opened_by(time.monotonic() + 60)
    thread.stop()
    thread.ended_by(time.monotonic() + 60)
    assert isinstance(one.reporter, own.Keeps)
    (report,) = one.reporter.reports
    assert set(report) == {"h.taskmanager.spark.my job.Map.0.numRecordsIn", "h.jobmanager.my job.numEpochs"}
    assert one.reporter.closed == 1


def test_errors_are_logged_once_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    one = setup(f"{OWN}:Fails", interval="10 s", password="geheim")
    clock = Time(until=100)
    with caplog.at_level(logging.DEBUG):
        ReporterThread(one, lambda: [COUNTER], clock, clock.wait).run()
    assert isinstance(one.reporter, own.Fails) and len(one.reporter.reports) == 11
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "metric reporter 'r' failed, and goes on: OSError: no answer from" in caplog.messages[0]
    assert "11 of 11 reports failed" in caplog.messages[1]
    assert "geheim" not in caplog.text


def test_one_that_cannot_open_does_nothing(caplog: pytest.LogCaptureFixture) -> None:
    configuration = {
        "metrics.reporter.a.factory.class": f"{OWN}:CannotOpen",
        "metrics.reporter.b.factory.class": f"{OWN}:Keeps",
    }
    reporters = Reporters(configuration, "j", lambda: [COUNTER])
    reporters.open()
    reporters.close()
    assert caplog.messages == ["metric reporter 'a' does nothing: OSError: port taken"]


def test_a_wrong_configuration_is_told() -> None:
    configuration = {
        "metrics.reporter.a.factory.class": f"{OWN}:Wrong",
        "metrics.reporter.a.token": "geheim",
    }
    reporters = Reporters(configuration, "j", list)
    with pytest.raises(ValueError, match=r"metric reporter 'a': the token \*+ is wrong"):
        reporters.open()


def test_one_that_hangs_stops_nothing(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "CLOSE_SECONDS", 0.2)
    own.Hangs.let_go.clear()
    hangs, keeps = setup(f"{OWN}:Hangs", name="hangs"), setup(f"{OWN}:Keeps", name="keeps")
    reporters = Reporters({}, "j", lambda: [COUNTER])
    reporters._threads = [ReporterThread(hangs, lambda: [COUNTER]), ReporterThread(keeps, lambda: [COUNTER])]
    reporters.open()
    reporters.close()
    assert "metric reporter 'hangs' has not sent its last report in time" in caplog.messages
    reporters._threads[1].ended_by(time.monotonic() + 60)
    assert isinstance(keeps.reporter, own.Keeps) and len(keeps.reporter.reports) == 1
    own.Hangs.let_go.set()
    reporters._threads[0].ended_by(time.monotonic() + 60)
    assert isinstance(hangs.reporter, own.Hangs) and hangs.reporter.closed == 1
