"""A request as handlers see it, and what they answer besides a body.

Errors are told as Flink's REST API does: a status, and a text that begins with the name of a Java exception, which
tools look for. Asynchronous operations are begun under an id and looked up under it until they are forgotten. What was
computed of a document is cached as long as it is the same document.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, BinaryIO, TypeVar

from millrace.cluster.control import JobControl, JobHolder, ProgramStore
from millrace.cluster.documents import JobDocument, SubtaskDocument, VertexDocument
from millrace.cluster.rest.settings import RestSettings

# Errors

HANDLER = "org.apache.flink.runtime.rest.handler.RestHandlerException"
NOT_FOUND = "org.apache.flink.runtime.rest.NotFoundException"
NO_JOB = "org.apache.flink.runtime.messages.FlinkJobNotFoundException"
NO_APPLICATION = "org.apache.flink.runtime.messages.FlinkApplicationNotFoundException"
NO_TASK_MANAGER = "org.apache.flink.runtime.resourcemanager.exceptions.UnknownTaskExecutorException"


class RestError(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, *texts: str) -> None:
        super().__init__(*texts)
        self.status = status
        self.texts = texts
        self.archived: str | None = None
        """what the history server answers with 200: Flink's archives keep answers that say what a job doesn't have"""


def refused(status: int, message: str) -> RestError:
    """A request that a handler declines."""
    return RestError(status, f"{HANDLER}: {message}\n")


def not_enabled(message: str, kind: str = HANDLER) -> RestError:
    """The job has not switched on what is asked for."""
    error = RestError(404, f"{kind}: {message}\n")
    error.archived = message
    return error


def missing(message: str) -> RestError:
    """Something that the path names isn't there."""
    return RestError(404, f"{NOT_FOUND}: {message}\n")


def broken(kind: str, message: str) -> RestError:
    """What Flink calls an internal error, though some of them are only unknown ids."""
    text = f"<Exception on server side:\n{kind}: {message}\n\nEnd of exception on server side>"
    return RestError(500, "Internal server error.", text)


def unreadable(place: str, name: str, value: str) -> RestError:
    """A parameter that can't be read. ``place`` is ``path`` or ``query``."""
    text = f'Cannot resolve {place} parameter ({name}) from value "{value}".'
    return refused(400, f"Bad request, could not parse parameters: {text}")


def unknown_job(id: str) -> RestError:
    return missing(f"Job {id} not found")


# Cached answers

T = TypeVar("T")
"""Type of what is computed."""


class DocumentCache:
    """Results by purpose and job; documents themselves are not kept."""

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], tuple[weakref.ref[JobDocument], Any]] = OrderedDict()

    def of(self, purpose: str, job: JobDocument, compute: Callable[[JobDocument], T]) -> T:
        """What ``compute`` gives for a job."""
        key = purpose, job.id
        known = self._known.get(key)
        if known is not None and known[0]() is job:
            result: T = known[1]
            return result
        result = compute(job)
        with self._lock:
            self._known[key] = weakref.ref(job), result
            self._known.move_to_end(key)
            while len(self._known) > self._limit:
                self._known.popitem(last=False)
        return result


# Asynchronous operations

Key = tuple[str, str, str]
"""kind of operation, whose it is (a job, or empty), id of the request"""


@dataclass
class Trigger:
    """One operation."""

    future: Future[Any] = field(default_factory=Future)
    completed: float | None = None
    """when, by the clock of the registry"""


class Triggers:
    """The operations of one server.

    The same id twice is the same operation, which is begun once. Completed ones are forgotten after a while, and sooner
    when there are too many; those that go on never are.
    """

    def __init__(self, limit: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._known: OrderedDict[Key, Trigger] = OrderedDict()

    def begin(self, key: Key, start: Callable[[], Future[Any]]) -> None:
        """Start an operation, unless there is one with this key. What ``start`` raises is how it ends."""
        with self._lock:
            self._forget()
            if key in self._known:
                return
            self._make_room()
            trigger = self._known[key] = Trigger()
        try:
            work = start()
        except Exception as error:
            work = Future()
            work.set_exception(error)
        work.add_done_callback(lambda done: self._complete(trigger, done))

    def find(self, key: Key) -> Future[Any] | None:
        """The operation with this key; it is done, or goes on."""
        with self._lock:
            self._forget()
            trigger = self._known.get(key)
            return None if trigger is None else trigger.future

    def _complete(self, trigger: Trigger, work: Future[Any]) -> None:
        with self._lock:
            trigger.completed = self._clock()
        if work.cancelled():
            trigger.future.set_exception(RuntimeError("The operation was cancelled."))
        elif (error := work.exception()) is not None:
            trigger.future.set_exception(error)
        else:
            trigger.future.set_result(work.result())

    def _forget(self) -> None:
        now = self._clock()
        for key, each in [*self._known.items()]:
            if each.completed is not None and now - each.completed > self._seconds:
                del self._known[key]

    def _make_room(self) -> None:
        if len(self._known) < self._limit:
            return
        for key, each in self._known.items():
            if each.completed is not None:
                del self._known[key]
                return
        raise refused(503, f"There are {len(self._known)} operations in progress already; try again later.")


# The request


@dataclass(frozen=True)
class Site:
    """What is behind the routes of one server."""

    holder: JobHolder
    programs: ProgramStore | None
    settings: RestSettings
    triggers: Triggers
    remembered: DocumentCache = field(default_factory=DocumentCache)


@dataclass(frozen=True)
class Upload:
    """A file that came with a request."""

    name: str
    content: BinaryIO
    """open as long as the request is answered"""


@dataclass(frozen=True)
class Call:
    """One request: parameters that are read and checked, and the body as the type that the operation names."""

    site: Site
    path: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, list[Any]] = field(default_factory=dict)
    body: Any = None
    address: str = ""
    """of the server, as the caller has written it"""
    uploads: tuple[Upload, ...] = ()

    @property
    def holder(self) -> JobHolder:
        return self.site.holder

    @property
    def settings(self) -> RestSettings:
        return self.site.settings

    def one(self, name: str) -> Any:
        """The first value of a parameter of the query; None: it isn't there."""
        values = self.query.get(name)
        return values[0] if values else None

    def job(self) -> JobDocument:
        """The job that the path names."""
        found = self.holder.job(self.path["jobid"])
        if found is None:
            raise unknown_job(self.path["jobid"])
        return found

    def vertex(self, job: JobDocument) -> VertexDocument:
        """The vertex that the path names."""
        found = find_vertex(job, self.path["vertexid"])
        if found is None:
            raise refused(404, f"No vertex with ID '{self.path['vertexid']}' exists.")
        return found

    def shown_vertex(self, job: JobDocument) -> VertexDocument:
        """The same, for operations that say it in other words."""
        found = find_vertex(job, self.path["vertexid"])
        if found is None:
            raise missing(f"JobVertex {self.path['vertexid']} not found")
        return found

    def subtask(self, vertex: VertexDocument) -> SubtaskDocument:
        """The subtask that the path names, in the attempt that it names, if it does."""
        for each in vertex.subtasks:
            if each.index == self.path["subtaskindex"]:
                if self.path.get("attempt", each.attempt) != each.attempt:
                    raise refused(404, f"Invalid attempt num {self.path['attempt']}")
                return each
        raise refused(404, f"Invalid subtask index for vertex {vertex.id}")

    def control(self) -> JobControl | None:
        return self.holder.control(self.path["jobid"])


def find_vertex(job: JobDocument, id: str) -> VertexDocument | None:
    return next((each for each in job.vertices if each.id == id), None)


def now_ms() -> int:
    return int(time.time() * 1000)


def at(job: JobDocument) -> int:
    """The moment that durations of a job are shown for: now, or the end of what is known of one that has ended."""
    return job.written if job.ended >= 0 else max(job.written, now_ms())


@dataclass(frozen=True)
class Answer:
    """A body with a status or a type of its own."""

    body: Any
    status: int = 200
    media: str = "application/json; charset=UTF-8"
    encoded: bool = False
    """whether the body is text already, as a whole or as an iterable of pieces"""
    headers: Mapping[str, str] = field(default_factory=dict)
