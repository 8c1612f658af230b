"""The keeper: one small process per executor that starts the owners of jobs and passes connections on to them.

It runs no code of any job, so what it forks is pristine, and it is single-threaded, so it may fork. A connection begins
with a ``Greeting``; the keeper chooses the owner of that task and sends it the open connection. Owners end with the
keeper, and the keeper ends with the process whose workers it serves.

A run that a newer one has replaced should end soon. While it does not, its task has another owner; when its time is
over its process takes no more tasks, and is ended as soon as no connection waits for a run there.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import select
import signal
import socket
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from operator import itemgetter

from millrace.spark.workers import processes
from millrace.spark.workers.frames import (
    ENDED,
    Done,
    Forget,
    Greeting,
    Imported,
    Look,
    Moved,
    Passed,
    TaskId,
    Watched,
    receive,
    same_user,
    send,
)
from millrace.spark.workers.processes import learn, warm_up
from millrace.util.folders import make_private
from millrace.util.system import is_alive, started_at


@dataclass
class ActiveRun:
    """A run of a task that has not ended."""

    task: TaskId
    epoch: int
    outdated: float | None = None
    """when a newer run replaced this one (seconds of the monotonic clock); None: the run is still wanted"""


@dataclass(eq=False)
class Child:
    """An owner process, with the runs of tasks in it."""

    pid: int
    control: socket.socket
    runs: dict[int, ActiveRun] = field(default_factory=dict)
    gone: bool = False

    @property
    def wanted(self) -> bool:
        """Whether a worker or the driver still waits for one of the runs in this process."""
        return any(run.outdated is None for run in self.runs.values())

    def runs_task(self, task: TaskId) -> bool:
        return any(run.task == task for run in self.runs.values())

    def suits(self, greeting: Greeting) -> bool:
        """Whether a run can begin in this process. It cannot where an earlier run of its task goes on: that may hang,
        and hold the interpreter."""
        hangs = greeting.stays and self.hangs_since is not None
        return not hangs and not self.runs_task(greeting.task)

    @property
    def hangs_since(self) -> float | None:
        """Since when (seconds of the monotonic clock) a replaced run goes on in this process; None: there is none."""
        return min((run.outdated for run in self.runs.values() if run.outdated is not None), default=None)


@dataclass
class JobOwners:
    """The owners of one job on this executor."""

    children: list[Child] = field(default_factory=list)
    leaving: list[Child] = field(default_factory=list)
    """owners in which a run hangs: they get no more tasks, and are ended"""
    places: dict[TaskId, Child] = field(default_factory=dict)
    epoch: int = 0
    """the latest epoch for which a run has begun"""
    asked: float = 0.0
    idle_seconds: float = 600.0
    cancel_seconds: float = 0.0
    """seconds that a run may go on after a newer one of its task has begun; 0: no limit"""

    @property
    def wanted(self) -> bool:
        return any(child.wanted for child in (*self.children, *self.leaving))

    def greet(self, greeting: Greeting, now: float) -> None:
        """Note that a run begins: earlier runs of its task, and runs of earlier epochs, are not wanted any more."""
        self.asked, self.idle_seconds, self.cancel_seconds = now, greeting.idle_seconds, greeting.cancel_seconds
        self.epoch = max(self.epoch, greeting.epoch)
        for child in (*self.children, *self.leaving):
            for run in child.runs.values():
                if run.outdated is None and (run.task == greeting.task or run.epoch < self.epoch):
                    run.outdated = now

    def least_loaded(self, greeting: Greeting) -> tuple[Child | None, bool]:
        """The owner with the least load that a task could join (None: there is none), and whether it already has
        work."""
        task = greeting.task
        tasks = Counter(id(child) for child in self.places.values())
        of_stage = Counter(id(child) for other, child in self.places.items() if other[0] == task[0])

        def load(child: Child) -> tuple[int, int, int]:
            return len(child.runs), of_stage[id(child)], tasks[id(child)]

        free = [child for child in self.children if child.suits(greeting)]
        child = min(free, key=load, default=None)
        return child, child is None or bool(child.runs) or of_stage[id(child)] > 0

    def overdue(self, now: float) -> list[Child]:
        """Owners with a run that was replaced more than ``cancel_seconds`` ago."""
        return [child for since, child in self._hanging() if now - since > self.cancel_seconds]

    def too_many(self, most: int) -> list[Child]:
        """Owners with a hanging run that must end early, so that with one more owner there are at most ``most``: a task
        that hangs in every attempt must not fill the machine."""
        return [child for _, child in self._hanging()[: max(len(self.children) - most + 1, 0)]]

    def _hanging(self) -> list[tuple[float, Child]]:
        """(since when a replaced run goes on, its owner), the longest first; empty if such runs have no time limit."""
        if not self.cancel_seconds:
            return []
        found = ((child.hangs_since, child) for child in self.children)
        return sorted(((since, child) for since, child in found if since is not None), key=itemgetter(0))

    def retire(self, child: Child) -> None:
        """Give this owner no more tasks: its tasks find another owner."""
        self.forget(child)
        self.leaving.append(child)

    def forget(self, child: Child) -> None:
        for known in (self.children, self.leaving):
            if child in known:
                known.remove(child)
        self.places = {task: other for task, other in self.places.items() if other is not child}


LOOK_MS = 500
"""Milliseconds between two looks at whether the executor is still alive."""
GREETING_SECONDS = 5.0
ENDING_SECONDS = 10.0
"""The most seconds that an owner has to end its runs and close its functions when its job is over (less if
``task.cancellation.timeout`` is less). Sinks wait for that before they take back what was not committed."""


@dataclass
class Ending:
    """Owners whose job is over, while they close their functions."""

    children: list[Child]
    until: float
    """when the keeper kills the owners that are left (seconds of the monotonic clock)"""
    asker: socket.socket | None
    """the connection that is answered when the owners have ended; None: nothing waits for them"""


class Keeper:
    """The keeper of one executor: serves the workers that one process has started.

    :param process: the one that starts the workers.
    """

    def __init__(self, process: int) -> None:
        self._process = process
        self._since = started_at(process)
        self._folder = processes.folder_of(process)
        self._jobs: dict[str, JobOwners] = {}
        self._poller = select.poll()
        self._controls: dict[int, tuple[str, Child]] = {}
        self._endings: list[Ending] = []
        self._runs = 0
        self._to_learn: set[str] = set()

    def listen(self) -> bool:
        """Begin to listen on the keeper's socket; False: another keeper listens there already."""
        processes.remove_stale()
        make_private(self._folder)
        address = os.path.join(self._folder, processes.SOCKET)
        self._lock = os.open(os.path.join(self._folder, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        with contextlib.suppress(FileNotFoundError):
            os.unlink(address)  # of one that was killed
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(address)
        listener.listen(256)
        self._listener = listener
        self._poller.register(listener, select.POLLIN)
        return True

    def run(self) -> None:
        """Serve until the executor has ended."""
        try:
            looked = 0.0
            while True:
                for file, _ in self._poller.poll(LOOK_MS):
                    if file == self._listener.fileno():
                        self._accept()
                    elif file in self._controls:
                        self._hear(*self._controls[file])
                now = time.monotonic()
                self._end_forgotten(now)
                if now - looked >= LOOK_MS / 1000:  # not for each of a thousand tasks
                    looked = now
                    if not is_alive(self._process, self._since):
                        return
                    self._end_idle(now)
                    self._end_hanging(now)
        finally:
            processes.remove(self._folder)
            for _, child in self._controls.values():
                _kill(child.pid)

    # -- connections ----------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        connection.settimeout(GREETING_SECONDS)
        waits = False
        try:
            if not same_user(connection, os.getuid()):
                return
            message, _ = receive(connection)
            connection.settimeout(None)
            if isinstance(message, Forget):
                self._forget(message.job_id, connection)
                waits = True
            elif isinstance(message, Look):
                self._show(message, connection)
            elif isinstance(message, Imported):
                self._to_learn.update(message.modules)
            elif isinstance(message, Greeting):
                self._pass_on(message, connection)
        except (OSError, EOFError):
            return  # the worker was killed
        finally:
            if not waits:
                connection.close()

    def _pass_on(self, greeting: Greeting, connection: socket.socket) -> None:
        job = self._jobs.setdefault(greeting.job_id, JobOwners())
        child = job.places.get(greeting.task)
        if child is not None and (greeting.stays or child.runs_task(greeting.task)):
            self._hear(greeting.job_id, child)  # that its last run has ended may not have been read yet
        job.greet(greeting, time.monotonic())
        if child is None or child.gone:
            child = self._place(greeting, job)
        elif not child.suits(greeting):  # perhaps a run hangs there
            with contextlib.suppress(OSError):
                send(child.control, Moved(greeting.task))
            child = self._place(greeting, job)
        self._runs += 1
        try:
            send(child.control, Passed(self._runs), [connection.fileno()])
        except OSError:
            self._lost(greeting.job_id, child)
            child = self._place(greeting, job)
            send(child.control, Passed(self._runs), [connection.fileno()])
        child.runs[self._runs] = ActiveRun(greeting.task, greeting.epoch)

    def _show(self, look: Look, connection: socket.socket) -> None:
        """Pass on to an owner a connection that asks what the owner does. This does not count as a request of the
        job."""
        job = self._jobs.get(look.job_id) or JobOwners()
        owners = [child for child in (*job.children, *job.leaving) if not child.gone]
        if look.number < len(owners):
            with contextlib.suppress(OSError):
                send(owners[look.number].control, Watched(), [connection.fileno()])

    def _place(self, greeting: Greeting, job: JobOwners) -> Child:
        """Choose an owner for a task that has none: one with little load, or a new one while all are busy."""
        most = greeting.owners or os.cpu_count() or 1
        child, crowded = job.least_loaded(greeting)
        if child is None or (crowded and len(job.children) < most):
            for hanging in job.too_many(2 * most):
                _retire(greeting.job_id, job, hanging)
            child = self._start(greeting.job_id, job)
        job.places[greeting.task] = child
        return child

    def _hear(self, job_id: str, child: Child) -> None:
        """Read from an owner the numbers of the runs that have ended; the end of the connection means that the owner
        has ended."""
        try:
            ended = child.control.recv(1024 * ENDED.size, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            ended = b""
        for (number,) in ENDED.iter_unpack(ended):
            child.runs.pop(number, None)
        if not ended:
            self._lost(job_id, child)

    # -- owners ---------------------------------------------------------------------------------------------------

    def _start(self, job_id: str, job: JobOwners) -> Child:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            ours.close()
            self._become_owner(theirs, job_id)
        theirs.close()
        child = Child(pid, ours)
        job.children.append(child)
        self._controls[ours.fileno()] = (job_id, child)
        self._poller.register(ours, select.POLLIN)
        return child

    def _become_owner(self, control: socket.socket, job_id: str) -> None:
        """Become an owner; runs in the forked process and does not return."""
        code = 1
        try:
            self._listener.close()
            os.close(self._lock)
            for _, child in self._controls.values():
                child.control.close()
            for ending in self._endings:
                if ending.asker is not None:
                    ending.asker.close()
            from millrace.spark.workers.owner import serve

            serve(control, job_id, os.path.join(self._folder, processes.SOCKET))
            code = 0
        finally:
            # No clean-up that belongs to the process it was forked from.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _lost(self, job_id: str, child: Child) -> None:
        """Forget an owner that has ended for whatever reason: its tasks find another one."""
        if child.gone:
            return
        child.gone = True
        self._poller.unregister(child.control)
        del self._controls[child.control.fileno()]
        child.control.close()
        _kill(child.pid)
        job = self._jobs.get(job_id)
        if job is not None:
            job.forget(child)

    def _forget(self, job_id: str, asker: socket.socket | None = None) -> None:
        """Let the owners of a job close their functions and end; the keeper serves other jobs meanwhile."""
        job = self._jobs.pop(job_id, None) or JobOwners()
        children = [*job.children, *job.leaving]
        for child in children:
            with contextlib.suppress(OSError):
                send(child.control, Forget(job_id))
        patience = min(ENDING_SECONDS, job.cancel_seconds or ENDING_SECONDS)
        self._endings.append(Ending(children, time.monotonic() + patience, asker))

    def _end_forgotten(self, now: float) -> None:
        for ending in list(self._endings):
            if now < ending.until and not all(child.gone for child in ending.children):
                continue
            self._endings.remove(ending)
            for child in ending.children:
                self._lost("", child)
            if ending.asker is not None:
                with ending.asker, contextlib.suppress(OSError):
                    send(ending.asker, Done())
        if self._to_learn and not self._endings:  # no driver waits for the end of its job
            learn(self._to_learn)
            self._to_learn.clear()

    def _end_idle(self, now: float) -> None:
        for job_id, job in list(self._jobs.items()):
            if not job.wanted and now - job.asked > job.idle_seconds:
                self._forget(job_id)

    def _end_hanging(self, now: float) -> None:
        """End processes with a run that goes on although a newer one began more than ``cancel_seconds`` ago."""
        for job_id, job in self._jobs.items():
            for child in job.overdue(now):
                _retire(job_id, job, child)
            for child in list(job.leaving):
                if not child.wanted:
                    self._lost(job_id, child)


def _retire(job_id: str, job: JobOwners, child: Child) -> None:
    job.retire(child)
    tasks = sorted({run.task for run in child.runs.values() if run.outdated is not None})
    print(
        f"millrace: job {job_id}: runs of the tasks (stage, partition) {tasks} go on though newer ones have begun "
        f"(task.cancellation.timeout is {job.cancel_seconds:g} s): their process {child.pid} is ended",
        file=sys.stderr,
        flush=True,
    )


def _kill(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.waitpid(pid, 0)


def keep(process: int) -> None:
    """Run the keeper of a process's workers until that process has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the driver decides what it means
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    keeper = Keeper(process)
    if keeper.listen():
        # After the place is taken: workers wait at the socket while this takes its time.
        warm_up()
        gc.collect()
        gc.freeze()
        keeper.run()


if __name__ == "__main__":
    keep(int(sys.argv[1]))
