"""A request as handlers see it, and what they answer besides a body: errors, asynchronous operations, cached results.

An error is a status and a text that begins with the name of a Java exception, as in Flink's REST API: tools look for
it. An asynchronous operation is begun under an id, under which its result is asked for until it is forgotten. Results
computed from a document are cached for as long as the document stays the same object.
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
        """message of the history server, which answers with status 200 here: Flink's archives contain such answers for
        what a job does not have"""


def refused(status: int, message: str) -> RestError:
    """The error of a request that a handler declines."""
    return RestError(status, f"{HANDLER}: {message}\n")


def not_enabled(message: str, kind: str = HANDLER) -> RestError:
    """The error of a request for a feature that the job has not enabled."""
    error = RestError(404, f"{kind}: {message}\n")
    error.archived = message
    return error


def missing(message: str) -> RestError:
    """The error of a path that names something unknown."""
    return RestError(404, f"{NOT_FOUND}: {message}\n")


def broken(kind: str, message: str) -> RestError:
    """An internal error in Flink's form; Flink also answers so for some unknown ids."""
    text = f"<Exception on server side:\n{kind}: {message}\n\nEnd of exception on server side>"
    return RestError(500, "Internal server error.", text)


def unreadable(place: str, name: str, value: str) -> RestError:
    """The error of a parameter that can't be parsed. ``place`` is ``path`` or ``query``."""
    text = f'Cannot resolve {place} parameter ({name}) from value "{value}".'
    return refused(400, f"Bad request, could not parse parameters: {text}")


def unknown_job(id: str) -> RestError:
    return missing(f"Job {id} not found")


# Cached answers

T = TypeVar("T")
"""Type of a cached result."""


class DocumentCache:
    """Caches results computed from job documents, by purpose and job; the documents themselves are not held."""

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], tuple[weakref.ref[JobDocument], Any]] = OrderedDict()

    def of(self, purpose: str, job: JobDocument, compute: Callable[[JobDocument], T]) -> T:
        """The cached or newly computed result of ``compute`` for a job."""
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
"""kind of operation, its owner (a job's id, or empty), id of the request"""


@dataclass
class Trigger:
    """One asynchronous operation."""

    future: Future[Any] = field(default_factory=Future)
    completed: float | None = None
    """time of its completion, by the clock of the registry (s); None while it runs"""


class Triggers:
    """The asynchronous operations of one server. A second request with an operation's id does not start it again.

    Completed operations are forgotten after a while, and sooner when there are too many; running ones never are.
    """

    def __init__(self, limit: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._known: OrderedDict[Key, Trigger] = OrderedDict()

    def begin(self, key: Key, start: Callable[[], Future[Any]]) -> None:
        """Start an operation, unless there is one with this key. An error that ``start`` raises becomes the operation's
        result."""
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
        """The operation with this key, completed or running."""
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
    """The objects behind the routes of one server: holder, settings, programs, operations."""

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
    """the file's content, open until the request is answered"""


@dataclass(frozen=True)
class Call:
    """One request: its parsed and checked parameters, and its body as the type that the operation declares."""

    site: Site
    path: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, list[Any]] = field(default_factory=dict)
    body: Any = None
    address: str = ""
    """address of the server, as the client has written it"""
    uploads: tuple[Upload, ...] = ()

    @property
    def holder(self) -> JobHolder:
        return self.site.holder

    @property
    def settings(self) -> RestSettings:
        return self.site.settings

    def one(self, name: str) -> Any:
        """The first value of a query parameter; None if it is missing."""
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
        """The vertex that the path names; an unknown one is an error of the form "JobVertex ... not found"."""
        found = find_vertex(job, self.path["vertexid"])
        if found is None:
            raise missing(f"JobVertex {self.path['vertexid']} not found")
        return found

    def subtask(self, vertex: VertexDocument) -> SubtaskDocument:
        """The subtask that the path names; if the path names an attempt, too, it must be the subtask's present one."""
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
    """The time up to which a job's durations are counted: now, or the end of the job (ms)."""
    return job.written if job.ended >= 0 else max(job.written, now_ms())


@dataclass(frozen=True)
class Answer:
    """A body with a status or media type of its own."""

    body: Any
    status: int = 200
    media: str = "application/json; charset=UTF-8"
    encoded: bool = False
    """whether the body is encoded already: text, or an iterable of pieces"""
    headers: Mapping[str, str] = field(default_factory=dict)
