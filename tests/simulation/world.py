"""One simulated world: a clock, a disk, sinks, and a job whose drivers die and are started again."""

from __future__ import annotations

import itertools
import zlib
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random

from tests.simulation.cluster import Cluster, Task
from tests.simulation.disk import Disk
from tests.simulation.endings import Endings
from tests.simulation.faults import Chances, DriverDied, UserError, Violation, WorkerDied
from tests.simulation.flow_cluster import FlowCluster
from tests.simulation.part_files import PartFiles
from tests.simulation.programs import PROGRAMS, Program
from tests.simulation.promises import Promises
from tests.simulation.stores import Ledger

from millrace.runtime.coordination.checkpoints import CheckpointSettings
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.state.disk.plan import OnDisk

ON_DISK = {"ticking": 0.5, "keeping": 0.2, "operators": 0.2}
"""Program -> the share of its worlds with state on disk: they take longer than others."""
MERGES = 0.25
"""The share of worlds in which a process makes whole states from files."""
WISHES = ("savepoint", "cancel", "stop", "stop")

_roots = itertools.count()
"""A root of its own for every world: nothing that is remembered of one fits another."""


class Clock:
    """Virtual time, ms."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._now = 1_000

    def __call__(self) -> int:
        return self._now

    def pass_by(self, most: int) -> None:
        """Some time passes."""
        self._now += self._random.randrange(most + 1)


class World:
    """All that outlives a driver, and what the seed decides."""

    def __init__(self, seed: int, program: str | None = None) -> None:
        self.seed = seed
        self.random = random = Random(seed)
        self.program: Program = PROGRAMS[program or random.choice(sorted(PROGRAMS))]
        self.clock = Clock(random)
        self.chances = Chances(random)
        self.trace: list[str] = []
        self.root = f"simulated://{next(_roots)}"
        self.disk = Disk(self)
        self.ledger = Ledger(self)
        self.parts = PartFiles(self)
        self.plain: Counter[Hashable] = Counter()
        self.task: Task | None = None
        """the task that runs at this moment; None: the driver is at work"""
        self.engine: type[Cluster] | type[FlowCluster] = Cluster
        """what runs the tasks of its jobs"""
        self.cluster: Cluster | FlowCluster | None = None
        """of the driver that lives, or lived last"""
        self.resting = False
        """whether timers fire between two epochs"""
        self.on_disk = Random(f"{seed}: state").random() < ON_DISK.get(self.program.name, 0.0)
        """whether the workers keep keyed state on the disk of their machine: a real one"""
        merging = Random(f"{seed}: merging")
        self.merges = merging.random() < MERGES
        """whether another process makes whole states from files"""
        self.small = merging.choice((0, 0, 400))
        """bytes of files below which a task writes its whole state itself"""
        self.endings = Endings(seed)
        self.local = ""
        """its directory"""
        self.owed = 0
        """failures of the user's code between epochs: some epoch may fail for each, or not"""
        self._trespass: str | None = None
        self.zombies: list[Task] = []
        self.haunted: set[str] = set()
        """files that zombies have written"""
        self.promises = Promises(self)
        self._serial = 0
        self._faults = 0
        self.recoverable: str | None = None
        """the job that another driver would go on with"""
        self.durable = random.random() < 0.9
        # How often the user still does something about the job.
        self.wishes = random.choice((0, 0, 1, 1, 2))
        if self.chances.sure is not None and "savepoint" in self.chances.sure[1]:
            self.wishes = 3
        self.workers = random.choice((1, 2, 3))
        self.compact_bytes = random.choice((300, 3_000, 1 << 22))
        self.compact_versions = random.choice((2, 4, 500))
        self.sweeps = random.choice((0, 30, 60_000))
        """time from one sweep of the sinks to the next, ms"""
        self.inline = random.choice((0, 8_192))
        """bytes of orders that need no file"""
        self.reads = random.choice((3, 5, 9))
        """most records that a subtask reads in an epoch"""
        self.settings = CheckpointSettings(
            interval=random.choice((0, 0, 20, 60)),
            min_pause=random.choice((0, 0, 30)),
            timeout=random.choice((600_000, 600_000, 4)),
            tolerable_failures=random.choice((0, 1, 100)),
            retained=random.choice((1, 1, 2, 3)),
        )
        sure = "" if self.chances.sure is None else f", sure: {' '.join(self.chances.sure)}"
        self.note(f"program {self.program.name}, {self.workers} workers, {self.chances.left} faults at most{sure}")
        self.note(f"compaction from {self.compact_bytes} bytes, {self.compact_versions} versions; {self.settings}")
        if self.on_disk:
            self.note("workers keep keyed state on a disk that they share")
        if self.merges:
            self.note(f"whole states of {self.small} bytes or more are made from files")

    def note(self, what: str) -> None:
        """A line of the trace."""
        self.trace.append(f"{self.clock():>6}  {what}")

    def short(self, path: str) -> str:
        return path.removeprefix(self.root + "/")

    def serial(self) -> int:
        self._serial += 1
        return self._serial

    # -- what the code of a job meets ---------------------------------------------------------------------------------

    def user_code(self, where: str) -> None:
        """The user's code runs in a task."""
        if self.chances.happens("user code fails", where):
            assert self.task is not None
            self.note(f"the user's code fails in {self.task.name}: {where}")
            self.owed += self.resting
            raise UserError(where)
        if self.chances.happens("worker dies in user code", where):
            raise WorkerDied(where)

    def placed(self, job: JobGraph) -> JobGraph:
        """A job with its state where this world has it."""
        return replace(job, state=OnDisk((self.local,))) if self.on_disk else job

    @contextmanager
    def between_epochs(self, where: str) -> Iterator[None]:
        """Tasks do what they may do between epochs. Whatever they raise, they keep it to themselves."""
        self.task, self.resting = Task(f"timers of {where}", zombie=False), True
        try:
            yield
        finally:
            self.task, self.resting = None, False
        if self._trespass is not None:
            raise Violation(self._trespass)

    def sink_code(self, where: str) -> None:
        """A sink gets something to do."""
        if self.resting:
            self._trespass = f"a sink shall {where} between two epochs"

    def driver_code(self, where: str) -> None:
        """The user's code runs on the driver."""
        self.touch(where)
        if self.chances.happens("driver's code fails", where):
            self.note(f"the user's code fails on the driver: {where}")
            raise UserError(where)

    def touch(self, where: str, path: str | None = None) -> None:
        """A step at which the process may die. Time passes."""
        self.clock.pass_by(2)
        place = where if path is None else f"{where} ({self.short(path)})"
        if self.task is not None:
            if not self.task.zombie and self.chances.happens("worker dies", where):
                raise WorkerDied(place)
            return
        self.haunt()
        if self.chances.happens("driver dies", where):
            self.note(f"the driver dies: {place}")
            raise DriverDied(place)

    def haunt(self) -> None:
        """Zombies do a part of what they have left to do."""
        if self.zombies and self.random.random() < 0.1:
            zombie = self.random.choice(self.zombies)
            for what, effect in zombie.effects[: self.random.randrange(1, 3)]:
                self.note(f"zombie {zombie.name}: {what}")
                effect()
                zombie.effects.pop(0)
            if not zombie.effects:
                self.zombies.remove(zombie)

    def allowance(self, source: str, subtask: int) -> int:
        """How many records a subtask may read now. Run again, it may read more, as a source with a time limit does."""
        text = f"{self.seed} {source} {subtask} {self.clock()}"
        return zlib.crc32(text.encode()) % (self.reads + 1)

    def seen(self, record: Hashable) -> None:
        """An at-least-once sink shows a record, whatever becomes of its epoch."""
        self.plain[record] += 1
        if record not in self.program.plain:
            raise Violation(f"{record} was never sent")

    # -- what the user does -------------------------------------------------------------------------------------------

    def wish(self) -> str | None:
        """What the user wants at this moment."""
        if self.wishes and self.random.random() < 0.12:
            self.wishes -= 1
            return self.random.choice(WISHES if self.durable else ("savepoint",))
        return None

    def savepoint(self) -> str:
        """Where the next savepoint goes."""
        return f"{self.root}/savepoint-{self.serial()}"

    # -- what becomes of the job --------------------------------------------------------------------------------------

    def job_deleted(self, place: str) -> None:
        """All that is left of a job is about to be deleted."""
        if self.recoverable is not None and place.endswith("/" + self.recoverable):
            raise Violation(f"{self.short(place)} is deleted, but another driver would go on with it")
        self.promises.job_deleted(place)

    def over(self, job_id: str) -> None:
        """It is recorded that a job has ended."""
        self.recoverable = None

    @property
    def tidy(self) -> bool:
        """Whether nothing has gone wrong so far with deleting files."""
        return not self.chances.had("delete fails", "read fails", "driver's write seems to fail")

    def check_cause(self, error: BaseException) -> None:
        """The job fails: something must have gone wrong since the last time."""
        if self.chances.count == self._faults:
            if not self.owed:
                raise Violation(f"the job fails without a reason: {error}")
            self.owed -= 1
        self._faults = self.chances.count
