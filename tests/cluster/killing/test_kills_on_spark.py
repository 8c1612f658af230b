"""The whole matrix on a cluster with Spark: real jobs, exactly once into files, real savepoints; workers die, too."""

from __future__ import annotations

import os
import random
import uuid
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.cluster.killing.operations import leftovers
from tests.cluster.killing.rounds import matrix, play
from tests.cluster.killing.world import World
from tests.cluster.processes.running import wait_for
from tests.seeds import seed_of

from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.metadata import read_metadata
from millrace.cli.cluster.lifecycle import command

pytestmark = [pytest.mark.spark, pytest.mark.slow]

VICTIMS = ["supervisor", "server", "engine", "jvm", "job", "owner"]
LONGEST_SECONDS = 2.5
SHORT, ENDLESS = 40, 10_000_000
PROGRAM = """\
import sys
from millrace.common import Types, WatermarkStrategy
from millrace.common.serialization import Encoder
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.file_system import FileSink
from tests.crash.numbered import NumberedSource

records, place = int(sys.argv[1]), sys.argv[2]
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
numbers = env.from_source(NumberedSource(1, records, 3), WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
sink = FileSink.for_row_format(place + "/out", Encoder.simple_string_encoder()).build()
counted = numbers.key_by(lambda record: record.number % 3).map(lambda record: str(record.number), Types.STRING())
counted.sink_to(sink).uid("out")
env.execute("numbers")
"""


class SparkPrograms:
    """One program, which counts to what it is told, into a folder of the job."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.savepoints = world.place / "savepoints"
        self.uploaded = {kind: self.upload(kind) for kind in ("endless", "short")}

    def text(self, kind: str) -> str:
        return PROGRAM

    def upload(self, kind: str) -> str:
        answer = self._world.insist("POST", "/jars/upload", files={"jarfile": (f"{kind}.py", PROGRAM.encode())})
        return str(answer.json()["filename"].rpartition("/")[2])

    def _place(self, job: str) -> Path:
        return self._world.place / "jobs" / job

    def body(self, kind: str, job: str) -> dict[str, Any]:
        place = self._place(job)
        configuration = {
            "execution.checkpointing.interval": "300 ms",
            "execution.checkpointing.dir": str(place / "checkpoints"),
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "1000",
            "restart-strategy.fixed-delay.delay": "200 ms",
        }
        count = SHORT if kind == "short" else ENDLESS
        return {"programArgsList": [str(count), str(place)], "flinkConfiguration": configuration}

    def begin(self, kind: str, program: str | None = None) -> str:
        job = uuid.uuid4().hex
        path = f"/jars/{program or self.uploaded[kind]}/run"
        answer = self._world.insist("POST", path, json={"jobId": job, **self.body(kind, job)})
        assert answer.status_code == 200, answer.text
        taken = lambda: self._world.insist("GET", f"/jobs/{job}/checkpoints").json()["counts"]["completed"]
        wait_for(taken, "a first checkpoint", self._world.seconds, self._world.logs)
        return job

    def _output(self, place: Path) -> list[int]:
        """What is committed: hidden files do not count yet."""
        files = [Path(base, name) for base, _, names in os.walk(place) for name in names if name.startswith("part-")]
        return sorted(int(line) for file in files for line in file.read_text().split())

    def grows(self, job: str) -> None:
        before = len(self._output(self._place(job)))
        grown = lambda: len(self._output(self._place(job))) > before
        wait_for(grown, f"job {job[:6]} goes on", self._world.seconds, self._world.logs)

    def cancel(self, job: str) -> None:
        assert self._world.insist("PATCH", f"/jobs/{job}").status_code == 202
        self._world.wait_until(job, "CANCELED")
        output = self._output(self._place(job))
        assert output == list(range(len(output))), "each once, and none left out"

    def ran_once(self, job: str, state: str) -> None:
        output = self._output(self._place(job))
        if state == "FINISHED":
            assert output == list(range(SHORT))
        else:
            assert state == "FAILED"  # it died before its first checkpoint, and is not run again
            assert output == list(range(len(output)))

    def savepoints_are_whole(self, job: str, result: str | None) -> None:
        folder = self.savepoints / job
        found = [each for each in folder.iterdir() if (each / "_metadata").exists()] if folder.exists() else []
        for each in found:
            read_metadata(open_folder(str(each)))
        assert result is None or Path(result.removeprefix("file://")) in found


class SparkWorld(World):
    """With the JVM and the owners of jobs among the victims."""

    seconds = 300.0

    def victims(self, name: str, job: str | None) -> list[int]:
        if name not in ("jvm", "owner"):
            return super().victims(name, job)
        below = [process for pid in super().victims("engine", None) for process in _below(pid)]
        jvms = [process for process in below if process.name() == "java"]
        if name == "jvm":
            return [process.pid for process in jvms]
        leaves = [process for process in below if process.name() != "java" and not process.children()]
        return [random.choice(leaves).pid] if leaves else []


def _below(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


@pytest.mark.timeout(7200)
def test_every_victim_during_every_operation(tmp_path: Path) -> None:
    seed = seed_of("MILLRACE_KILL_SEED")
    print(f"MILLRACE_KILL_SEED={seed}")
    most = int(os.environ.get("MILLRACE_KILL_ROUNDS") or 1000)
    rounds = matrix(random.Random(seed), VICTIMS, LONGEST_SECONDS)[:most]
    options = {"rest.port": "0", "spark.ui.enabled": "false", "millrace.master": "local[4]"}
    with SparkWorld(tmp_path, lambda folder: command("supervisor", folder), options) as world:
        world.restore()
        programs = SparkPrograms(world)
        bystander = programs.begin("endless")
        for round in rounds:
            play(world, programs, round)
        programs.grows(bystander)
        programs.cancel(bystander)
        world.stop()
        assert leftovers(world) == []
