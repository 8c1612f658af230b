"""A holder of jobs whose documents come from stories, for the REST API under the dashboard."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from tests.cluster.dashboard import stories

from millrace.cluster.control import Launch, LaunchError
from millrace.cluster.documents import (
    FrameDocument,
    JobDocument,
    LogDocument,
    ProgramDocument,
    TaskManagerDocument,
    ThreadDocument,
)

GIB = 1 << 30
LOGS = {"orders.out": "counted de: 17\ncounted fr: 3\n" * 40, "orders.log": "INFO epoch 7 completed\n" * 100}


def frames() -> FrameDocument:
    own = FrameDocument(
        "parse (orders.py:42)", 52, (FrameDocument("strptime (/usr/lib/python3.11/_strptime.py:554)", 30),)
    )
    loop = FrameDocument(
        "process (site-packages/millrace/runtime/map.py:41)", 70, (own, FrameDocument("key (orders.py:50)", 9))
    )
    return FrameDocument("root", 80, (loop, FrameDocument("wait (/usr/lib/python3.11/threading.py:320)", 10)))


class StoryHolder:
    """Several jobs; what is asked of them is remembered, and changes them."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._began = clock()
        self.asked: list[tuple[Any, ...]] = []
        self.states: dict[str, str] = {}
        self.fails: str | None = None
        """why savepoints fail; None: they don't"""

    def jobs(self) -> Sequence[JobDocument]:
        now, seconds = int(self._clock() * 1000), self._clock() - self._began
        running = (stories.orders(now, seconds), stories.failing(now, seconds), stories.wide(now, seconds))
        ended = (
            stories.finished(now),
            stories.finished(now, "Import of March", "FAILED"),
            stories.finished(now, "Trial <b>run</b>", "CANCELED"),
        )
        return [self._as_asked(each, now) for each in running] + list(ended)

    def _as_asked(self, job: JobDocument, now: int) -> JobDocument:
        state = self.states.get(job.id)
        return job if state is None else replace(job, state=state, ended=now)

    def job(self, id: str) -> JobDocument | None:
        return next((each for each in self.jobs() if each.id == id), None)

    def control(self, id: str) -> StoryControl | None:
        return StoryControl(self, id) if self.job(id) else None

    def task_managers(self) -> Sequence[TaskManagerDocument]:
        now = int(self._clock() * 1000)
        return [
            TaskManagerDocument(
                f"executor-{number}", f"node-{number}", 40_000 + number, 4, 1, now - 900, 4, 16 * GIB, GIB, 2 * GIB, GIB
            )
            for number in range(2)
        ]

    def configuration(self) -> Mapping[str, str]:
        return {"rest.port": "8081", "spark.master": "spark://node-0:7077", "security.rest.token": "******"}

    def logs(self, task_manager: str | None) -> Sequence[LogDocument]:
        return [LogDocument(name, len(text), int(self._began * 1000)) for name, text in LOGS.items()]

    def read_log(self, task_manager: str | None, name: str) -> Iterable[bytes] | None:
        return [LOGS[name].encode()] if name in LOGS else None

    def threads(self) -> Sequence[ThreadDocument]:
        return [ThreadDocument("MainThread", '"MainThread" RUNNING\n  File "server.py", line 3, in serve')]

    def dispose_savepoint(self, path: str) -> None:
        self.asked.append(("dispose", path))

    def shut_down(self) -> None:
        self.asked.append(("shut down",))


class StoryControl:
    """Steers a job of a story."""

    def __init__(self, holder: StoryHolder, id: str) -> None:
        self._holder = holder
        self._id = id

    def document(self) -> JobDocument:
        found = self._holder.job(self._id)
        assert found is not None
        return found

    def cancel(self) -> None:
        self._holder.asked.append(("cancel", self._id))
        self._holder.states[self._id] = "CANCELED"

    def savepoint(self, directory: str | None, native: bool) -> Future[str]:
        self._holder.asked.append(("savepoint", directory, native))
        return self._path(directory)

    def stop(self, directory: str | None, drain: bool, native: bool) -> Future[str]:
        self._holder.asked.append(("stop", directory, drain))
        self._holder.states[self._id] = "FINISHED"
        return self._path(directory)

    def _path(self, directory: str | None) -> Future[str]:
        future: Future[str] = Future()
        if self._holder.fails is not None:
            future.set_exception(RuntimeError(self._holder.fails))
        else:
            future.set_result(f"{directory or 'file:/savepoints'}/savepoint-1")
        return future

    def checkpoint(self, full: bool) -> Future[int]:
        future: Future[int] = Future()
        future.set_result(62)
        return future

    def query_state(self, operator: str, state: str, key: Any) -> Future[Any]:
        raise LookupError("no state")

    def threads(self, task_manager: str | None) -> list[ThreadDocument]:
        return []

    def flame_graph(self, vertex: str, subtask: int | None, mode: str) -> FrameDocument:
        return frames()


class Programs:
    """Uploaded programs, in memory."""

    def __init__(self) -> None:
        self.known: dict[str, ProgramDocument] = {}
        self.launched: list[Launch] = []

    def programs(self) -> Sequence[ProgramDocument]:
        return list(self.known.values())

    def upload(self, name: str, content: bytes) -> ProgramDocument:
        program = ProgramDocument(f"11111111-2222-3333-4444-555555555555_{name}", name, 1_700_000_000_000, "main")
        self.known[program.id] = program
        return program

    def delete(self, id: str) -> bool:
        return self.known.pop(id, None) is not None

    def plan(self, launch: Launch) -> JobDocument:
        if "--fail" in launch.arguments:
            raise LaunchError("job.py:3: there is no topic named lost")
        return stories.orders(1_700_000_000_000, 0)

    def run(self, launch: Launch) -> str:
        self.launched.append(launch)
        return stories.orders(1_700_000_000_000, 0).id
