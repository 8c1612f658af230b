"""Whether a driver that died is started again, from what it left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from millrace.cluster.processes.driver_restarts import Restarts, Verdict
from millrace.spark.job_records import begin_job, record_cancelling, record_end, record_job, use

DEATH = "the driver was killed"
NO_CHECKPOINT = "job a has no durable checkpoint to go on from (see execution.checkpointing.dir)"


def fixed(attempts: int, delay_ms: int) -> dict[str, str]:
    return {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": str(attempts),
        "restart-strategy.fixed-delay.delay": f"{delay_ms} ms",
    }


@pytest.fixture
def path(tmp_path: Path) -> Iterator[str]:
    path = str(tmp_path / "jobs")
    use(path)
    yield path
    use(None)


def job(name: str, restart: dict[str, str] | None, checkpoint: bool = True) -> None:
    index = begin_job(name, restart)
    if checkpoint:
        record_job(index, name, f"/chk/{name}")


def test_without_a_job_there_is_nothing_to_go_on_with(path: str) -> None:
    assert Restarts(path).after(DEATH, 0) == Verdict("the driver was killed; no job was running")


def test_what_the_driver_has_said_itself_is_not_said_again(path: str) -> None:
    assert Restarts(path).after(None, 0) == Verdict("")


def test_a_job_goes_on_from_its_checkpoint_as_often_as_it_says(path: str) -> None:
    job("a", fixed(2, 1_500))
    restarts = Restarts(path)
    goes_on = "in 1.5 s: job a goes on from /chk/a"
    assert restarts.after(DEATH, 0) == Verdict(f"the driver was killed; restart 1 {goes_on}", 1_500)
    use(path)
    job("another id", fixed(2, 1_500), checkpoint=False)
    assert restarts.after(None, 1) == Verdict(f"the driver has lost Spark's JVM; restart 2 {goes_on}", 1_500)
    assert restarts.after(DEATH, 2) == Verdict(
        "the driver was killed; not restarted: job a allows 2 restarts at most, each after 1.5 s\n"
        "millrace run -s goes on from a checkpoint of job a in /chk/a"
    )


def test_a_failure_rate_is_that_of_all_drivers(path: str) -> None:
    job("a", {"restart-strategy.type": "failure-rate", "restart-strategy.failure-rate.failure-rate-interval": "10 s"})
    restarts = Restarts(path)
    delays = [restarts.after(DEATH, now).delay_ms for now in (0, 10_001, 20_001)]
    assert delays == [1_000, 1_000, None]


def test_several_jobs_wait_for_the_longest_delay_and_all_must_agree(path: str) -> None:
    job("a", fixed(2, 10))
    job("b", fixed(1, 200))
    restarts = Restarts(path)
    text = "the driver was killed; restart 1 in 0.2 s: job a goes on from /chk/a, job b goes on from /chk/b"
    assert restarts.after(DEATH, 0) == Verdict(text, 200)
    assert restarts.after(DEATH, 1000).delay_ms is None


def test_no_restarts_are_wanted(path: str) -> None:
    job("a", {"restart-strategy.type": "none"})
    assert (
        Restarts(path)
        .after(DEATH, 0)
        .text.startswith("the driver was killed; not restarted: job a allows no restarts\n")
    )


def ended(path: str) -> None:
    job("a", None, checkpoint=False)
    record_end("a", "FINISHED")
    job("b", fixed(1, 0))


def no_checkpoints(path: str) -> None:
    job("a", None, checkpoint=False)
    job("b", fixed(1, 0))


def no_checkpoint_yet(path: str) -> None:
    job("a", fixed(1, 0), checkpoint=False)
    job("b", fixed(1, 0))


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (ended, "job a of the program has already ended (FINISHED) and would run again"),
        (no_checkpoints, NO_CHECKPOINT),
        (no_checkpoint_yet, NO_CHECKPOINT),
    ],
)
def test_what_would_run_twice_is_not_started_again(path: str, prepare: Callable[[str], None], reason: str) -> None:
    prepare(path)
    way_out = "millrace run -s goes on from a checkpoint of job b in /chk/b"
    assert Restarts(path).after(DEATH, 0) == Verdict(f"the driver was killed; not restarted: {reason}\n{way_out}")


def test_input_that_is_lost_is_not_read_on(path: str) -> None:
    job("a", fixed(1, 0))
    text = Restarts(path, input_is_lost=True).after(DEATH, 0).text
    assert "standard input is a pipe, and what was read from it is gone" in text
    assert "/chk/a" in text


def test_what_is_being_cancelled_is_not_started_again(path: str) -> None:
    job("a", fixed(1, 0))
    record_cancelling("a")
    assert Restarts(path).after(DEATH, 0) == Verdict("the driver was killed; no job was running")
    job("b", fixed(1, 0))
    assert "job a of the program has already ended (CANCELED)" in Restarts(path).after(DEATH, 0).text
