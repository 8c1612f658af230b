"""The error of what only Java could do."""

from __future__ import annotations

__all__ = ["NoJavaError"]


class NoJavaError(NotImplementedError):
    """Something of Java was asked for, and there is no JVM.

    :param what: named as in Java.
    """

    def __init__(self, what: str) -> None:
        super().__init__(
            f"there is no JVM behind Millrace, and nothing here stands in for {what}: "
            "use the Python API, or see docs/differences.md"
        )
