"""Errors as Flink's REST API tells them: a status, and texts that begin with the name of a Java exception.

Tools look for these names, so they stay; there is no stack behind them.
"""

from __future__ import annotations

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
