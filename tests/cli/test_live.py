"""The live line, with a recorded terminal and clocks that stand still."""

from __future__ import annotations

import io
from dataclasses import dataclass, field

import pytest
from rich.console import Console

from millrace.cli.live import JobWatch, LiveListener, PipeListener, Progress, duration_text, lag_text, watermark_text
from millrace.cli.terminal import Above, Screen
from millrace.common.jobs import JobStatus
from millrace.runtime.coordination.coordinator import EpochResult
from millrace.runtime.coordination.figures import SlowOperator
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.spark.jobs.listeners import EpochDone, JobStarted, Late

NOON = 1_704_110_400_000  # 2024-01-01 12:00:00 UTC
STARTED = JobStarted("id", "word count", "http://127.0.0.1:4040", "/tmp/millrace-x.log")
ERASE = "\r\x1b[2K"


class Terminal(io.StringIO):
    """Keeps what a terminal is sent."""

    def isatty(self) -> bool:
        return True

    def screen(self) -> list[str]:
        """The lines that one sees at the end, for text of lines, the live line and erasures."""
        lines = [""]
        for part in self.getvalue().replace(ERASE, "\0").replace("\n", "\1\n").split("\n"):
            kept = part.rpartition("\0")[2] if "\0" in part else lines[-1] + part
            lines[-1] = kept.rstrip("\1")
            if part.endswith("\1"):
                lines.append("")
        return lines


@dataclass
class Job:
    """A job that only its listener knows."""

    width: int = 100
    terminal: Terminal = field(default_factory=Terminal)
    now: float = 0.0

    def __post_init__(self) -> None:
        console = Console(file=self.terminal, force_terminal=True, width=self.width, no_color=True, color_system=None)
        self.screen = Screen(console)
        self.watch = JobWatch(self.screen)
        self.listener = self.listen()

    def listen(self) -> LiveListener:
        return LiveListener(self.watch, self.screen, lambda: self.now, lambda: NOON / 1000, refresh_seconds=None)

    def epoch(self, number: int, records: int, watermark: int, skipped: int = 0, late: int = 0) -> None:
        result = EpochResult(number, (), (), records, watermark, (), 0)
        self.listener.epoch(EpochDone(result, 100, 0.0, skipped, late))
        self.listener.refresh()


def test_the_line_follows_the_job() -> None:
    job = Job()
    job.listener.started(STARTED)
    places = "Spark's dashboard: http://127.0.0.1:4040, log: /tmp/millrace-x.log"
    assert job.terminal.screen() == [places, "0 events/s  epoch 0  watermark -  lag -  0:00:00"]
    job.now = 2.0
    job.epoch(1, 2_468, NOON - 1_500)
    line = "1,234 events/s  epoch 1  watermark 2024-01-01 11:59:58  lag 1.5 s  0:00:02"
    assert job.terminal.screen() == [places, line]
    job.now = 4.0
    job.epoch(2, 32, MAX_WATERMARK)
    assert job.terminal.screen() == [places, "625 events/s  epoch 2  watermark end  lag -  0:00:04"]
    job.listener.ended(JobStatus.FINISHED)
    summary = "word count FINISHED: 2,500 records in 4.0 s (625 events/s)"
    assert job.terminal.screen() == [places, summary, ""]


def test_records_that_could_not_be_read_are_told_at_the_end() -> None:
    job = Job()
    job.listener.started(STARTED)
    job.now = 4.0
    job.epoch(1, 2_500, MAX_WATERMARK, skipped=1_001, late=7)
    job.listener.ended(JobStatus.FINISHED)
    told = "(625 events/s), 1,001 that could not be read left out, 7 that came too late dropped"
    assert job.terminal.screen()[-2].endswith(told)


def test_in_a_pipe_a_warning_tells_them(caplog: pytest.LogCaptureFixture) -> None:
    job = Job()
    listener = PipeListener(job.watch)
    listener.started(STARTED)
    listener.epoch(EpochDone(EpochResult(1, (), (), 2_500, MAX_WATERMARK, (), 0), 100, 0.0, 0, 7))
    listener.ended(JobStatus.FAILED)
    assert caplog.messages == ["job 'word count' is FAILED, 7 that came too late dropped"]


def test_what_functions_print_has_their_name_in_front() -> None:
    job = Job()
    job.listener.started(STARTED)
    job.listener.said("map (1/2)", "hello")
    assert job.terminal.screen()[1] == "[map (1/2)] hello"


@pytest.mark.parametrize("status", [JobStatus.FAILED, JobStatus.CANCELED])
def test_only_a_job_that_finished_has_a_summary(status: JobStatus) -> None:
    job = Job()
    job.listener.started(STARTED)
    job.listener.ended(status)
    job.listener.refresh()  # comes too late
    assert job.terminal.screen()[1:] == [""]


def test_the_places_are_named_once() -> None:
    job = Job()
    for _ in range(2):
        listener = job.listen()
        listener.started(STARTED)
        listener.ended(JobStatus.CANCELED)
    assert job.terminal.getvalue().count("dashboard") == 1
    assert job.watch.log_file == "/tmp/millrace-x.log"


def test_a_slow_job_says_which_operator_it_waits_for() -> None:
    job = Job(width=120)
    job.listener.started(STARTED)
    slow = SlowOperator(3, "call", 102.4, 0.9)
    result = EpochResult(1, (), (), 10, MIN_TIMESTAMP, (), 0)
    job.now = 1.0
    job.listener.epoch(EpochDone(result, 100, 0.0, slow=slow))
    job.listener.refresh()
    line = job.terminal.screen()[-1]
    assert line == "10 events/s  epoch 1  watermark -  lag -  waits for call, 102 ms a record  0:00:01"
    job.listener.late(Late("word count", "epoch 2 runs for 10 s: it waits for call (1/1)"))
    assert job.terminal.screen()[-2:] == ["word count: epoch 2 runs for 10 s: it waits for call (1/1)", line]
    job.listener.epoch(EpochDone(result, 100, 0.0))
    job.listener.refresh()
    assert "waits for" not in job.terminal.screen()[-1]


def test_output_scrolls_above_the_line() -> None:
    job = Job()
    out = Above(job.screen, job.terminal)
    job.screen.show("LIVE")
    print("one", 1, file=out)  # type: ignore[call-overload]
    assert job.terminal.screen() == ["one 1", "LIVE"]
    out.write("two")
    assert job.terminal.screen() == ["one 1", "two"]
    job.screen.show("LIVE 2")
    assert job.terminal.screen() == ["one 1", "two"]
    out.writelines(["...\n", "three\n"])
    assert job.terminal.screen() == ["one 1", "two...", "three", "LIVE 2"]
    job.screen.show(None)
    assert job.terminal.screen() == ["one 1", "two...", "three", ""]


def test_what_is_said_does_not_join_a_line_of_the_program() -> None:
    job = Job()
    Above(job.screen, job.terminal).write("half")
    job.screen.say("said")
    assert job.terminal.screen() == ["half", "said", ""]


def test_a_narrow_terminal_gets_a_short_line() -> None:
    job = Job(width=20)
    job.screen.show("0123456789" * 3)
    assert job.terminal.screen() == ["012345678901234567…"]


def test_long_lines_of_the_program_are_left_alone() -> None:
    job = Job(width=20)
    job.screen.show("LIVE")
    Above(job.screen, job.terminal).write("x" * 50 + " [bold]\n")
    assert job.terminal.screen() == ["x" * 50 + " [bold]", "LIVE"]


def test_a_pipe_gets_the_output_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    watch = JobWatch(None)
    listener = watch.listener()
    assert isinstance(listener, PipeListener)
    listener.started(STARTED)
    listener.printed(("a", "b"))
    listener.ended(JobStatus.FINISHED)
    assert capsys.readouterr() == ("a\nb\n", "")
    assert watch.log_file == "/tmp/millrace-x.log"


def test_the_rate_is_that_of_the_last_seconds() -> None:
    progress = Progress(0.0)
    for second in range(1, 11):
        progress.add(second, 100, MIN_TIMESTAMP, float(second))
    assert progress.rate(10.0) == 100
    assert progress.rate(20.0) == 0
    assert Progress(3.0).rate(3.0) == 0


@pytest.mark.parametrize(
    ("watermark", "time", "lag"),
    [
        (MIN_TIMESTAMP, "-", "-"),
        (MAX_WATERMARK, "end", "-"),
        (NOON, "2024-01-01 12:00:00", "0.0 s"),
        (NOON + 5_000, "2024-01-01 12:00:05", "0.0 s"),
        (NOON - 90_000, "2024-01-01 11:58:30", "0:01:30"),
        (NOON - 3 * 86_400_000, "2023-12-29 12:00:00", "3 days"),
        (-5, "-5", "19,723 days"),
    ],
)
def test_watermarks_are_shown_as_times(watermark: int, time: str, lag: str) -> None:
    assert watermark_text(watermark) == time
    assert lag_text(watermark, NOON) == lag


def test_durations() -> None:
    assert [duration_text(s) for s in (0.9, 61, 3_600 * 30 + 5)] == ["0:00:00", "0:01:01", "30:00:05"]
