"""Errors that programs may catch as ``Py4JJavaError``: in PyFlink every failure behind the API is one.

py4j comes with PySpark, so its class is there; no Java is behind it here. Without py4j no program can name the class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Base = Exception
else:
    try:
        from py4j.protocol import Py4JJavaError as Base
    except ImportError:
        Base = Exception


@dataclass(frozen=True)
class JavaThrowable:
    """The ``java_exception`` of such an error: answers the usual calls."""

    text: str

    def getMessage(self) -> str:
        return self.text

    def toString(self) -> str:
        return self.text

    def getCause(self) -> None:
        """None: the error's text names the cause."""


class CaughtAsJavaError(Base):
    """A second base of an error, which makes it a ``Py4JJavaError``, too."""

    # Py4JJavaError's own three ask a JVM about the error.

    def __init__(self, *args: Any) -> None:
        Exception.__init__(self, *args)

    def __str__(self) -> str:
        return Exception.__str__(self)

    @property
    def errmsg(self) -> str:
        return str(self)

    @property
    def java_exception(self) -> JavaThrowable:
        return JavaThrowable(str(self))

    @property
    def exception_cmd(self) -> None:
        """The call of Java that failed; there is none."""
