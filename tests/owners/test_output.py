"""What functions print, log and warn of reaches the driver with its operator and subtask, and not too much of it."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.owners.driving import Executor, OwnedJob

from millrace.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.spark.workers.output import (
    LONGEST,
    SEPARATOR,
    DriverSocket,
    ForwardedStream,
    LineSender,
    OutputListener,
    shortened,
)
from millrace.spark.workers.shipping import Output, output_wanted


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    found = Executor(monkeypatch)
    yield found
    found.end()


class Talking(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        print("opened")

    def map(self, value: int) -> int:
        log = logging.getLogger("my.job")
        print("value", value, end="")
        print(" seen")
        log.info("info of %d", value)
        log.debug("not to be heard")
        logging.getLogger("httpx").info("HTTP Request: POST, of a library that a sink uses")
        if value == 1:
            warnings.warn("careful", UserWarning, stacklevel=1)
            print("no end of a line", end="")
        return value


def heard(executor: Executor, tmp_path: Path, level: int) -> list[tuple[str, str]]:
    """What the driver hears of a job with two subtasks and values 0 to 3, in the order in which it was said."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    said: list[tuple[str, str]] = []
    hearing = OutputListener(lambda who, line: said.append((who, line)))
    hearing.begin()
    assert hearing.address is not None
    stream = env.from_sequence(0, 3).map(Talking()).name("talks").map(lambda value: value).name("silent")
    job = OwnedJob(stream, tmp_path, output=Output(level, driver=hearing.address))
    collected = job.epoch()
    job.forget()
    hearing.end()
    assert sorted(collected) == [0, 1, 2, 3]
    assert not Path(hearing.address).exists()
    return said


def test_lines_have_their_operator_and_subtask(executor: Executor, tmp_path: Path) -> None:
    said = heard(executor, tmp_path, logging.INFO)
    one, two = ([line for who, line in said if who == f"talks ({number}/2)"] for number in (1, 2))
    assert two == ["opened", "value 2 seen", "INFO my.job: info of 2", "value 3 seen", "INFO my.job: info of 3"]
    assert one[:4] == ["opened", "value 0 seen", "INFO my.job: info of 0", "value 1 seen"]
    assert one[4] == "INFO my.job: info of 1"
    assert one[5].endswith("UserWarning: careful")
    assert ("", "no end of a line") in said
    assert {who for who, _ in said} == {"talks (1/2)", "talks (2/2)", ""}


def test_levels(executor: Executor, tmp_path: Path) -> None:
    said = heard(executor, tmp_path, logging.WARNING)
    assert [line for who, line in said if who == "talks (2/2)"] == ["opened", "value 2 seen", "value 3 seen"]


def test_a_second_has_so_many_lines() -> None:
    sent: list[str] = []
    now = [0.0]

    def send(message: str) -> bool:
        sent.append(message.replace(SEPARATOR, ": "))
        return True

    teller = LineSender(2, send, lambda: now[0])
    for number in range(1_500):
        teller.tell("a", str(number))
    teller.tell("b", "other")
    teller.finish(at_once=False)
    assert sent == ["a: 0", "a: 1", "b: other"]
    now[0] = 1.0
    teller.tell("a", "next")
    assert sent[3:] == ["a: : 1498", "a: next"]
    teller.finish()
    assert len(sent) == 5


def test_how_many_lines_are_missing_is_told_with_the_log() -> None:
    said: list[tuple[str, str]] = []
    hearing = OutputListener(lambda who, line: said.append((who, line)))
    hearing.begin("/var/log/x.log")
    assert hearing.address is not None
    teller = LineSender(1, DriverSocket(hearing.address), lambda: 0.0)
    for _ in range(3):
        teller.tell("a", "b")
    teller.finish()
    hearing.end()
    assert said == [("a", "b"), ("a", "... and 2 more lines in /var/log/x.log")]


def test_a_driver_that_is_not_there_is_no_problem(executor: Executor, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    output = Output(driver=str(tmp_path / "nobody"))
    job = OwnedJob(env.from_sequence(0, 3).map(Talking()), tmp_path, output=output)
    assert job.epoch() == [0, 1, 2, 3]
    job.forget()


def test_long_lines_are_cut() -> None:
    assert shortened("x" * LONGEST) == "x" * LONGEST
    assert shortened("x" * (LONGEST + 1)).endswith("x... (4,001 characters)")


def test_configuration() -> None:
    assert output_wanted({}) == Output(logging.INFO, 100, None)
    wanted = {"millrace.output.level": "error", "millrace.output.lines-per-second": "0"}
    assert output_wanted(wanted) == Output(logging.ERROR, 0, None)


def test_a_line_that_never_ends_is_told_in_parts() -> None:
    """It would be in memory as a whole, and copied with each part of it."""
    lines: list[str] = []
    stream = ForwardedStream(io.StringIO(), lambda who, line: lines.append(line))
    for _ in range(1000):
        stream.write("x" * 10_000)
    assert sum(map(len, lines)) + sum(map(len, stream._begun.values())) == 10_000_000
    assert max(map(len, lines)) < 100_000 and all(len(rest) <= 1 << 16 for rest in stream._begun.values())
    stream.write("end\nnext")
    assert lines[-1].endswith("xend") or lines[-1] == "end"
