"""An epoch that hangs is cancelled and told; a Spark context that somebody else stops ends the job as a lost driver."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.spark.conftest import MakeEnvironment, Watch

from millrace.spark.jobs.tasks import EpochTimeoutError
from millrace.util.system import is_alive

STOPPED = """
from tests.spark.test_execution import endless, wait_for

from millrace.datastream import StreamExecutionEnvironment
from millrace.spark.errors import DriverLostError
from millrace.spark.sessions.session import local_session

session = local_session(1)
env = StreamExecutionEnvironment.get_execution_environment(spark=session)
env.set_parallelism(1)
endless(env).filter(lambda number: False).print()
client = env.execute_async("stopped")
wait_for(lambda: client.get_accumulators().result()["millrace.records-read"] > 0)
session.stop()
try:
    client.get_job_execution_result().result()
except DriverLostError as error:
    print("lost:", error)
"""


def test_an_epoch_that_hangs_fails_and_says_where(environment: MakeEnvironment, tmp_path: Path) -> None:
    def wait(number: int) -> int:
        while number == 3 and not (tmp_path / "go").exists():
            time.sleep(0.05)
        return number

    options = {"millrace.epoch.timeout": "6 s", "restart-strategy.type": "none"}
    env = environment(2, **options)
    env.from_sequence(0, 9).map(wait).name("waits").print()
    text = (
        r"epoch \d+ stands still: waits \(\d/2\), task \d of stage 0, has come no further for 6000 ms "
        r"\(millrace\.epoch\.timeout\) with a piece of \d+ elements?, .* before it; process \d+ on .* is at\n"
    )
    with pytest.raises(EpochTimeoutError, match=text) as raised:
        env.execute("hangs")
    assert f"{__name__}.test_an_epoch_that_hangs_fails_and_says_where.<locals>.wait:" in str(raised.value)
    (tmp_path / "go").touch()
    assert list(environment(2).from_sequence(0, 3).map(wait).execute_and_collect("goes on")) != []


def test_a_piece_that_takes_long_does_not_hang(environment: MakeEnvironment, watch: Watch) -> None:
    """Many elements at once of a function that was fast: together they take longer than a task may stand still."""

    def dawdle(number: int) -> int:
        time.sleep(0 if number < 600 else 0.06)
        return number

    options = {"millrace.epoch.timeout": "4 s", "restart-strategy.type": "none"}
    env = environment(1, **options)
    assert list(env.from_sequence(1, 800).map(dawdle).execute_and_collect("slow")) == list(range(1, 801))
    assert watch.restarts == []


def test_the_process_of_a_task_that_hangs_is_ended_while_the_job_goes_on(
    environment: MakeEnvironment, tmp_path: Path
) -> None:
    def wait(number: int) -> int:
        hung = tmp_path / "hung"
        if number == 3 and not hung.exists():
            hung.write_text(str(os.getpid()))
            while True:
                time.sleep(0.05)
        while number == 5 and is_alive(int(hung.read_text())):
            time.sleep(0.05)
        return number

    options = {
        "millrace.epoch.timeout": "6 s",
        "task.cancellation.timeout": "200 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "10 ms",
    }
    env = environment(1, **options)
    assert list(env.from_sequence(0, 9).map(wait).execute_and_collect("hangs once")) == list(range(10))
    assert not is_alive(int((tmp_path / "hung").read_text()))


def test_a_context_that_is_stopped_is_a_lost_driver() -> None:
    command = [sys.executable, "-c", STOPPED]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=200)
    assert "lost: job 'stopped' lost Spark's JVM" in done.stdout, done.stdout + done.stderr
