"""The command itself on Spark, whose driver and JVM are killed while the source changes: ``pytest -m slow``."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests.cdc.test_postgres import COPIED, ORDERS, PIPELINE, Databases
from tests.cdc.test_postgres import databases as databases

pytestmark = [pytest.mark.services, pytest.mark.slow]

DEADLINE_SECONDS = 240
KILLS = int(os.environ.get("MILLRACE_PIPELINE_KILLS", "3"))


@pytest.mark.timeout(600 + 120 * KILLS)
def test_a_pipeline_that_is_killed(databases: Databases, tmp_path: Path) -> None:
    """After each kill changes go on, and in the end the copy is the source."""
    text = PIPELINE.format(
        port=databases.server.port, source=databases.source, target=databases.target, slot=databases.slot
    )
    (tmp_path / "p.yaml").write_text(text)
    options = {
        "execution.checkpointing.interval": "1s",
        "execution.checkpointing.dir": f"file://{tmp_path}/checkpoints",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "100",
        "restart-strategy.fixed-delay.delay": "1s",
    }
    given = [part for name, value in options.items() for part in ("-D", f"{name}={value}")]
    with open(tmp_path / "log", "wb") as log:
        command = [sys.executable, "-m", "millrace", "cdc", str(tmp_path / "p.yaml"), "-t", "local", *given]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log, start_new_session=True)
    try:
        _wait(databases, process, tmp_path)
        for number in range(KILLS):
            databases.run(
                databases.source,
                f"UPDATE app.orders_1 SET amount = (id * {number + 3}) % 11 - 1; "
                f"DELETE FROM app.orders_2 WHERE id % {number + 5} = 0; "
                f"ALTER TABLE app.orders_2 ADD COLUMN c{number} int; "
                f"INSERT INTO app.orders_2 SELECT i, 1.5, i % 3 - 1, 'new' FROM "
                f"generate_series({2000 + 100 * number}, {2050 + 100 * number}) i",
            )
            time.sleep(random.uniform(0, 1.5))
            _kill(process)
            databases.run(databases.source, f"UPDATE app.orders_2 SET c{number} = id")
            _wait(databases, process, tmp_path)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """A driver, or its JVM."""
    children = psutil.Process(process.pid).children(recursive=True)
    java = [child for child in children if child.name() == "java"]
    victims = java if random.random() < 0.5 and java else psutil.Process(process.pid).children()
    for victim in victims:
        victim.kill()


def _wait(databases: Databases, process: subprocess.Popen[bytes], folder: Path) -> None:
    until = time.monotonic() + DEADLINE_SECONDS
    while databases.run(databases.source, ORDERS) != databases.copied(COPIED):
        said = (folder / "log").read_text("utf-8", "replace")[-3000:]
        assert process.poll() is None, said
        assert time.monotonic() < until, said
        time.sleep(0.5)
