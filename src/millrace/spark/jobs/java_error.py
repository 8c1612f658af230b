"""The failure of a job as programs of PyFlink catch it: ``JobFailedError`` that is a ``Py4JJavaError``, too.

In PyFlink everything that fails behind the API is a ``py4j.protocol.Py4JJavaError`` whose text has the user's. py4j is
there with PySpark, so its class can be; there is no Java behind it here.
"""

from __future__ import annotations

from typing import Any

from millrace.runtime import failure
from millrace.runtime.failure import Failure
from millrace.util.java_errors import CaughtAsJavaError


class JobFailedError(failure.JobFailedError, CaughtAsJavaError):
    """The job has failed; caught as ``JobFailedError`` or as ``Py4JJavaError``."""

    def __init__(self, failed: Failure, concurrent: tuple[Failure, ...] = (), text: str | None = None) -> None:
        # Not by way of super(): both bases would.
        Exception.__init__(self, failed.render() if text is None else text)
        self.failure = failed
        self.concurrent = tuple(concurrent)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.failure, self.concurrent, str(self))


def as_java_error(error: BaseException) -> BaseException:
    """The error that a user gets for what a job ended with."""
    if type(error) is not failure.JobFailedError:
        return error
    found = JobFailedError(error.failure, error.concurrent, str(error))
    found.__cause__, found.__context__ = error.__cause__, error.__context__
    found.__suppress_context__ = error.__suppress_context__
    return found.with_traceback(error.__traceback__)
