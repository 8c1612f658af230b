"""A process of a cluster dies during an operation of the REST API: what is told afterwards is true. Without Spark."""

from __future__ import annotations

import os
import random
import signal
import uuid
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.killing.fake import command, committed
from tests.cluster.killing.operations import leftovers
from tests.cluster.killing.rounds import Round, draw, matrix, play
from tests.cluster.killing.world import World
from tests.cluster.processes.running import wait_for
from tests.rings import taken
from tests.seeds import seed_of

from millrace.cli.cluster.lifecycle import end_orphans
from millrace.util.system import is_alive

VICTIMS = ["supervisor", "server", "engine", "job"]
LONGEST_SECONDS = 0.4
SHORT = 30
TEXTS = {"endless": "1000000", "short": str(SHORT)}


class FakePrograms:
    """Their text says how far they count."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.savepoints = world.place / "savepoints"
        self.uploaded = {kind: self.upload(kind) for kind in TEXTS}

    def text(self, kind: str) -> str:
        return TEXTS[kind]

    def upload(self, kind: str) -> str:
        files = {"jarfile": (f"{kind}.py", self.text(kind).encode())}
        answer = self._world.insist("POST", "/jars/upload", files=files)
        return str(answer.json()["filename"].rpartition("/")[2])

    def body(self, kind: str, job: str) -> dict[str, Any]:
        return {}

    def begin(self, kind: str, program: str | None = None) -> str:
        job = uuid.uuid4().hex
        answer = self._world.insist("POST", f"/jars/{program or self.uploaded[kind]}/run", json={"jobId": job})
        assert answer.status_code == 200, answer.text
        return job

    def _output(self, job: str) -> list[str]:
        return committed(Path(self._world.folder, f"out-{job}"))

    def grows(self, job: str) -> None:
        before = len(self._output(job))
        grown = lambda: len(self._output(job)) > before
        wait_for(grown, f"job {job[:6]} goes on", self._world.seconds, self._world.logs)

    def cancel(self, job: str) -> None:
        assert self._world.insist("PATCH", f"/jobs/{job}").status_code == 202
        self._world.wait_until(job, "CANCELED")
        output = self._output(job)
        assert output == [str(number) for number in range(1, len(output) + 1)]

    def ran_once(self, job: str, state: str) -> None:
        ran = Path(self._world.folder, f"ran-{job}")
        began = ran.read_text().splitlines().count("begins") if ran.exists() else 0
        assert began <= 1
        if state == "FINISHED":
            assert began == 1 and self._output(job) == [str(number) for number in range(1, SHORT + 1)]
        else:
            assert state == "FAILED" and began == 0  # it died before it had begun

    def savepoints_are_whole(self, job: str, result: str | None) -> None:
        folder = self.savepoints / job
        found = [str(each) for each in folder.iterdir() if not each.name.startswith(".")] if folder.exists() else []
        assert all(os.path.exists(os.path.join(each, "_metadata")) for each in found)
        assert result is None or result in found


def world_in(tmp_path: Path) -> World:
    return World(tmp_path, lambda folder: command("supervisor", folder), {"rest.port": "0"})


def kill_all(tmp_path: Path, rounds: list[Round]) -> None:
    with world_in(tmp_path) as world:
        world.restore()
        programs = FakePrograms(world)
        bystander = programs.begin("endless")
        for round in rounds:
            play(world, programs, round)
        programs.grows(bystander)
        # What a dead supervisor has left can be ended, too, and is recorded by the next one.
        [supervisor] = world.victims("supervisor", None)
        os.kill(supervisor, signal.SIGKILL)
        wait_for(lambda: not is_alive(supervisor), "the supervisor is dead")
        assert world.states()[bystander] == "RUNNING"  # its own process says so
        assert end_orphans(world.folder) == ["1 program", "server", "engine"]
        wait_for(lambda: not world.processes(), "all processes end", world.seconds, lambda: str(world.processes()))
        world.restore()
        world.wait_until(bystander, "CANCELED")
        assert leftovers(world) == []


@pytest.mark.timeout(900)
def test_what_is_told_is_true_whoever_dies(tmp_path: Path) -> None:
    seed = seed_of("MILLRACE_KILL_SEED")
    print(f"MILLRACE_KILL_SEED={seed}")
    rounds = draw(random.Random(seed), VICTIMS, LONGEST_SECONDS)
    kill_all(tmp_path, taken(rounds, 3, lambda each: each.operation))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_victim_during_every_operation(tmp_path: Path) -> None:
    seed = seed_of("MILLRACE_KILL_SEED")
    print(f"MILLRACE_KILL_SEED={seed}")
    kill_all(tmp_path, matrix(random.Random(seed), VICTIMS, LONGEST_SECONDS))
