"""A job on several executors while processes are killed or stopped: nothing is lost, nothing doubled, no line torn.

``make test`` runs one job on ``local-cluster`` with a few hits, ``make cluster`` all on a standalone cluster.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from tests.cluster.running import Hit, Run
from tests.cluster.standalone_spark import Standalone
from tests.cluster.victims import Victim, kill, stop_and_continue
from tests.rings import TAKES_DRAWS
from tests.seeds import seed_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1_000)]

SEED = seed_of("MILLRACE_CLUSTER_SEED")
HOWS: dict[str, Callable[[psutil.Process], None]] = {
    "killed": kill,
    "stopped shortly": stop_and_continue(3.0),
    "taken for lost": stop_and_continue(16.0),
    "stopped for a minute": stop_and_continue(60.0),
}


WAYS = {
    # The job begins when all executors are there: it would begin without flow where they take their time.
    "flow": {
        "spark.cores.max": "3",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
    },
    "spark-jobs": {"millrace.epoch.execution": "spark-jobs"},
    "speculation": {
        "millrace.epoch.execution": "spark-jobs",
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
    },
}
"""What carries the epochs; whether Spark may run a task twice."""


@pytest.mark.parametrize("way", ["flow", pytest.param("spark-jobs", marks=pytest.mark.slow)])
def test_a_job_on_three_executors_survives(tmp_path: Path, way: str) -> None:
    chance = random.Random(SEED)
    print(f"MILLRACE_CLUSTER_SEED={SEED}")
    hits = [
        Hit(Victim.OWNER, kill, 1.0),
        Hit(Victim.WORKER, kill, 2.0),
        Hit(Victim.EXECUTOR, kill, 2.0),
        Hit(Victim.EXECUTOR, stop_and_continue(3.0), 3.0),
    ]
    chance.shuffle(hits)
    if TAKES_DRAWS:
        del hits[2:]
    run = Run(tmp_path, "local-cluster[3,1,700]", **WAYS[way])
    run.hit(hits, chance, timeout=400)
    assert "its epochs are spark-jobs" not in run.said()


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with Standalone(tmp_path_factory.mktemp("standalone"), workers=3, cores=1, memory="700m") as cluster:
        yield cluster


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("victim", Victim, ids=lambda victim: victim.value)
def test_a_process_is_hit(tmp_path: Path, standalone: Standalone, victim: Victim, how: str, way: str) -> None:
    run = Run(tmp_path, standalone.master, [worker.pid for worker in standalone.workers], **WAYS[way])
    run.hit([Hit(victim, HOWS[how], after) for after in (1.0, 4.0, 4.0)], random.Random(SEED), timeout=600)
    assert way != "flow" or "its epochs are spark-jobs" not in run.said()


@pytest.mark.slow
@pytest.mark.parametrize("comes_back", [True, False])
def test_the_master_is_killed(tmp_path: Path, standalone: Standalone, comes_back: bool) -> None:
    """The job goes on with the executors that it has. (This is the last test that the cluster is good for.)"""

    def kill_master(_: psutil.Process) -> None:
        assert standalone.master_process is not None
        standalone.master_process.kill()
        standalone.master_process.wait()
        if comes_back:
            time.sleep(3)
            standalone.start_master()

    run = Run(tmp_path, standalone.master, [worker.pid for worker in standalone.workers])
    run.hit([Hit(Victim.DRIVER, kill_master, 2.0)], random.Random(SEED), timeout=600)
