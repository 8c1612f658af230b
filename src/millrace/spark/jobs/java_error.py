"""The failure of a job as programs of PyFlink catch it: ``JobFailedError`` that is a ``Py4JJavaError``, too.

In PyFlink everything that fails behind the API is a ``py4j.protocol.Py4JJavaError`` whose text has the user's. py4j is
there with PySpark, so its class can be; there is no Java behind it here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError

from millrace.runtime import failure
from millrace.runtime.failure import Failure


@dataclass(frozen=True)
class JavaException:
    """What ``java_exception`` of such an error answers to the usual questions."""

    text: str

    def getMessage(self) -> str:
        return self.text

    def toString(self) -> str:
        return self.text

    def getCause(self) -> None:
        """There is none: the text names it."""


class JobFailedError(failure.JobFailedError, Py4JJavaError):  # type: ignore[misc]
    """The job has failed; caught as ``JobFailedError`` or as ``Py4JJavaError``."""

    def __init__(self, failed: Failure, concurrent: tuple[Failure, ...] = (), text: str | None = None) -> None:
        # Not by way of super(): Py4JJavaError asks a JVM about itself.
        Exception.__init__(self, failed.render() if text is None else text)
        self.failure = failed
        self.concurrent = tuple(concurrent)
        self.errmsg = str(self)
        self.java_exception = JavaException(self.errmsg)
        self.cause = None

    def __str__(self) -> str:
        return Exception.__str__(self)

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
