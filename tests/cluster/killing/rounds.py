"""One round: an operation, a victim, a moment; afterwards all that is told must be true."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from dataclasses import dataclass

from tests.cluster.killing.operations import OPERATIONS, Operation
from tests.cluster.killing.programs import Programs
from tests.cluster.killing.world import OVER, SETTLED, World
from tests.cluster.processes.running import wait_for

from millrace.cluster import job_folder, submissions
from millrace.util.system import is_alive

LIE_SECONDS = 5.0
"""How long the list may be behind: a look of the server, on a busy machine."""


@dataclass(frozen=True)
class Round:
    """What happens."""

    operation: str
    victim: str
    delay: float
    """seconds between the request and the kill"""

    def __str__(self) -> str:
        return f"{self.operation}: kill the {self.victim} after {self.delay * 1000:.0f} ms"


def play(world: World, programs: Programs, round: Round) -> None:
    """Kill, bring back, and check."""
    operation = OPERATIONS[round.operation](world, programs)
    operation.prepare()
    with Watching(world) as watching:
        errors: list[BaseException] = []

        def ask() -> None:
            try:
                operation.ask()
            except BaseException as error:
                errors.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        time.sleep(round.delay)
        victims = world.victims(round.victim, operation.job)
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not any(map(is_alive, victims)), "the victim is dead")
        print(f"{round} (killed: {len(victims)})", flush=True)
        world.restore()
        asking.join(world.seconds * 2)
        assert not asking.is_alive(), "the request is never answered"
        if errors:
            raise errors[0]
        settled(world)
        operation.check()
        settled(world)
    watching.verdict()


def settled(world: World) -> None:
    """Wait until nothing is on its way; then list and processes must agree."""
    wait_for(
        lambda: not disagreements(world), "list and processes agree", world.seconds,
        lambda: "\n".join([*disagreements(world), world.logs()]),
    )  # fmt: skip


def disagreements(world: World) -> list[str]:
    """Where the list says something else than processes and files."""
    found = []
    states = world.states()
    for job, state in states.items():
        driver = world.driver(job)
        if state not in SETTLED:
            found.append(f"job {job[:6]} is {state}")
        if (state == "RUNNING") != (driver is not None):
            found.append(f"job {job[:6]} is {state}, its process is {driver}")
        if (state in OVER) != job_folder.is_archived(world.folder, job):
            found.append(f"job {job[:6]} is {state}, and its archive says otherwise")
    for place in (job_folder.SUBMISSIONS, job_folder.JOBS):
        found += [f"{place}/{id[:6]} is not listed" for id in job_folder.names(world.folder, place) if id not in states]
    return found


class Watching:
    """Asks for the list all the time, to be used in a ``with``: no answer may contradict what came before."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._over = threading.Event()
        self._ended: dict[str, str] = {}
        self._known: set[str] = set()
        self._untrue: dict[str, float] = {}
        self._found: list[str] = []
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Watching:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def verdict(self) -> None:
        assert not self._found, "\n".join(self._found)

    def _watch(self) -> None:
        while not self._over.wait(0.05):
            answer = self._world.ask("GET", "/jobs/overview")
            if answer is None:
                continue
            if answer.status_code != 200:
                self._found.append(answer.text)
                continue
            self._compare({each["jid"]: each["state"] for each in answer.json()["jobs"]})

    def _compare(self, states: dict[str, str]) -> None:
        self._found += [f"job {job[:6]} is not listed any more" for job in self._known - set(states)]
        self._known |= set(states)
        for job, state in states.items():
            before = self._ended.get(job, state)
            if before != state:
                self._found.append(f"job {job[:6]} was {before} and is {state}")
            if state in OVER:
                self._ended[job] = state
            program = os.path.join(self._world.folder, job_folder.JOBS, job)
            if state == "RUNNING" and os.path.isdir(program) and not submissions.is_running(program):
                since = self._untrue.setdefault(job, time.monotonic())
                if time.monotonic() - since > LIE_SECONDS:
                    self._found.append(f"job {job[:6]} is shown as RUNNING and has had no process for {LIE_SECONDS} s")
            else:
                self._untrue.pop(job, None)


def draw(chance: random.Random, victims: list[str], longest: float) -> list[Round]:
    """Each operation with a victim, each victim with several operations, in a random order."""
    operations = list(OPERATIONS)
    chance.shuffle(operations)
    order = [victims[(number + chance.randrange(2)) % len(victims)] for number in range(len(operations))]
    return [
        Round(operation, victim, chance.random() ** 2 * longest)
        for operation, victim in zip(operations, order, strict=True)
    ]


def matrix(chance: random.Random, victims: list[str], longest: float) -> list[Round]:
    """All pairs."""
    pairs = [(operation, victim) for operation in OPERATIONS for victim in victims]
    chance.shuffle(pairs)
    return [Round(operation, victim, chance.random() ** 2 * longest) for operation, victim in pairs]


__all__ = ["Operation", "Round", "draw", "matrix", "play"]
