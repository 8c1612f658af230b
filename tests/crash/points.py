"""Kills a process with -9 when the job reaches a point. Millrace knows nothing of it: its methods are wrapped here.

Driver and workers import this module; ``MILLRACE_CRASHES`` tells them what to do. Each crash happens once in the life
of a job, whichever process reaches its point: a file says that it has happened.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import psutil

VARIABLE = "MILLRACE_CRASHES"
_DRIVER = "driver"
"""The file with the number of the driver's process."""


class Point(Enum):
    """Where in the life of a job."""

    BEFORE_FIRST_COMMIT = "before the first epoch's commit"
    DELTAS_WRITTEN = "after delta files before acks"
    ACKS_THERE = "after acks before metadata"
    METADATA_WRITTEN = "after metadata before sink commit"
    COMMITTING = "during sink commit"
    COMMITTED = "after commit before the next epoch"
    SAVING = "during savepoint"
    RESTORING = "during restore"
    RECOVERING = "while going on after another crash"


class Victim(Enum):
    """Who is killed. An owner that reaches the point itself is that owner."""

    OWNER = "owner"
    WORKER = "worker"
    JVM = "JVM"
    DRIVER = "driver"


@dataclass(frozen=True)
class Crash:
    point: Point
    victim: Victim
    nth: int = 1
    """the time that some process reaches the point, counted from when the crash before has happened"""


def environment(directory: Path, crashes: Sequence[Crash]) -> dict[str, str]:
    """What the processes of a job need to know to crash. ``directory`` is theirs."""
    plan = [{**asdict(crash), "point": crash.point.name, "victim": crash.victim.name} for crash in crashes]
    return {VARIABLE: json.dumps({"directory": str(directory), "crashes": plan})}


def happened(directory: Path) -> list[float]:
    """When each crash happened (s since the epoch), in their order."""
    return [float(path.read_text()) for path in sorted(directory.glob("crash-*"))]


def completed_epochs(directory: Path) -> list[tuple[float, int]]:
    """When each epoch was complete (s since the epoch), and on which driver (its process id)."""
    path = directory / "epochs"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(float(moment), int(driver)) for moment, driver in map(str.split, lines)]


def this_is_the_driver() -> None:
    """To be called before Spark starts."""
    if _plan is not None:
        (_plan.directory / _DRIVER).write_text(str(os.getpid()))
        _install_for_driver(_plan)


# -- inside the job ---------------------------------------------------------------------------------------------------


class _Plan:
    def __init__(self, directory: str, crashes: list[dict[str, Any]]) -> None:
        self.directory = Path(directory)
        self._crashes = [Crash(Point[c["point"]], Victim[c["victim"]], c["nth"]) for c in crashes]
        self._reached: Counter[int] = Counter()

    def reached(self, point: Point, victims: Sequence[Victim] = tuple(Victim)) -> None:
        """This process is at the point; crashes of ``victims`` may happen here."""
        index = len(list(self.directory.glob("crash-*")))
        if index >= len(self._crashes):
            return
        crash = self._crashes[index]
        if crash.point is not point or crash.victim not in victims:
            return
        # A driver that goes on commits what is owed before it has a JVM or workers.
        killed = _process(crash.victim, int((self.directory / _DRIVER).read_text()))
        if killed is None:
            return
        self._reached[index] += 1
        if self._reached[index] >= crash.nth and self._claim(index):
            _kill(killed)

    def _claim(self, index: int) -> bool:
        """Whether no other process was faster."""
        try:
            file = os.open(self.directory / f"crash-{index}", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return False
        os.write(file, str(time.time()).encode())
        os.close(file)
        return True

    def epoch_completed(self) -> None:
        with open(self.directory / "epochs", "a") as file:
            file.write(f"{time.time()} {os.getpid()}\n")


def _process(victim: Victim, number: int) -> psutil.Process | None:
    """Who will be killed, None if there is none yet."""
    driver = psutil.Process(number)
    if victim is Victim.DRIVER:
        return driver
    if victim is Victim.OWNER and driver.pid != os.getpid():
        return psutil.Process()
    found = {Victim.OWNER: _owners, Victim.WORKER: _workers, Victim.JVM: _jvms}[victim](driver)
    return found[0] if found else None


def _kill(killed: psutil.Process) -> None:
    """Kill, and see it die unless it is this process."""
    end = time.monotonic() + 10
    with contextlib.suppress(psutil.NoSuchProcess):  # its parent has reaped it
        killed.send_signal(signal.SIGKILL)
        while killed.is_running() and killed.status() != psutil.STATUS_ZOMBIE and time.monotonic() < end:
            time.sleep(0.001)


def _jvms(driver: psutil.Process) -> list[psutil.Process]:
    return [child for child in _children(driver) if _is_java(child)]


def _workers(driver: psutil.Process) -> list[psutil.Process]:
    """The Python workers: children of the JVM's child, the daemon that forks them."""
    return [child for child in _of_daemons(driver) if not _is_keeper(child)]


def _owners(driver: psutil.Process) -> list[psutil.Process]:
    """The processes that tasks live in: children of the keeper, which is a child of the daemon, too."""
    return [owner for child in _of_daemons(driver) if _is_keeper(child) for owner in _children(child)]


def _of_daemons(driver: psutil.Process) -> list[psutil.Process]:
    begun = _children(driver)
    # One that was begun together with the JVM is a child of the driver.
    daemons = [daemon for child in begun for daemon in _children(child)]
    daemons += [child for child in begun if not _is_java(child)]
    return [child for daemon in daemons for child in _children(daemon)]


def _children(process: psutil.Process) -> list[psutil.Process]:
    """None of a process that has ended meanwhile."""
    try:
        return process.children()
    except psutil.NoSuchProcess:
        return []


def _is_java(process: psutil.Process) -> bool:
    try:
        return "java" in process.name()
    except psutil.NoSuchProcess:
        return False


def _is_keeper(process: psutil.Process) -> bool:
    """A keeper leads a group of processes, so that its owners can be told from workers."""
    try:
        return os.getpgid(process.pid) == process.pid
    except ProcessLookupError:
        return False


def _read_plan() -> _Plan | None:
    text = os.environ.get(VARIABLE)
    if text is None:
        return None
    found = json.loads(text)
    return _Plan(found["directory"], found["crashes"])


_plan = _read_plan()


def commits(_: str) -> None:
    """A transaction was committed: to be called by the sink."""
    if _plan is not None:
        _plan.reached(Point.COMMITTING)


def _before(owner: Any, name: str, call: Callable[[], None]) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        call()
        return original(*args, **kwargs)

    setattr(owner, name, wrapped)


def _after(owner: Any, name: str, call: Callable[[], None]) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        call()
        return result

    setattr(owner, name, wrapped)


def _install_for_workers(plan: _Plan) -> None:
    from millrace.checkpoint.snapshot_files import FolderSnapshots
    from millrace.checkpoint.task_storage import FolderStorage

    reached, others = functools.partial, (Victim.OWNER, Victim.WORKER, Victim.JVM)
    _after(FolderStorage, "write_delta", reached(plan.reached, Point.DELTAS_WRITTEN))
    _after(FolderSnapshots, "save", reached(plan.reached, Point.SAVING, others))
    _after(FolderSnapshots, "load", reached(plan.reached, Point.RESTORING, others))
    _after(FolderStorage, "read_delta", reached(plan.reached, Point.RECOVERING, others))


def _install_for_driver(plan: _Plan) -> None:
    """Not in workers: they must not import what needs a JVM."""
    from millrace.checkpoint.directory import CheckpointDirectory
    from millrace.runtime.coordination.commits import Commits
    from millrace.runtime.coordination.coordinator import Coordinator
    from millrace.spark.jobs import requests
    from millrace.spark.jobs.runner import JobRunner

    reached = functools.partial
    _before(Commits, "commit", reached(plan.reached, Point.BEFORE_FIRST_COMMIT))
    _before(CheckpointDirectory, "write", reached(plan.reached, Point.ACKS_THERE))
    _after(CheckpointDirectory, "write", reached(plan.reached, Point.METADATA_WRITTEN))
    _after(JobRunner, "_epoch", reached(plan.reached, Point.COMMITTED))
    _before(requests, "write_metadata", reached(plan.reached, Point.SAVING, (Victim.DRIVER,)))
    _before(Coordinator, "begun", reached(plan.reached, Point.RESTORING, (Victim.DRIVER,)))
    _before(Coordinator, "go_on", reached(plan.reached, Point.RECOVERING, (Victim.DRIVER,)))
    _after(Coordinator, "complete", plan.epoch_completed)


if _plan is not None:
    _install_for_workers(_plan)
