"""A request as handlers see it, and what they give back where it is more than a body."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from millrace.cluster.control import JobControl
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.vertices import SubtaskDocument, VertexDocument
from millrace.cluster.holder import JobHolder, ProgramStore
from millrace.cluster.rest.web.errors import missing, refused, unknown_job
from millrace.cluster.rest.web.remembered import Remembered
from millrace.cluster.rest.web.settings import RestSettings
from millrace.cluster.rest.web.triggers import Triggers


@dataclass(frozen=True)
class Site:
    """What is behind the routes of one server."""

    holder: JobHolder
    programs: ProgramStore | None
    settings: RestSettings
    triggers: Triggers
    remembered: Remembered = field(default_factory=Remembered)


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
