"""``ConnectionFailed``: a store is not there, or refuses."""

from __future__ import annotations


class ConnectionFailed(Exception):
    """A store cannot be reached, or refuses. :ivar passing: whether that may be over a moment later."""

    def __init__(self, message: str, passing: bool) -> None:
        super().__init__(message)
        self.passing = passing

    def __reduce__(self) -> tuple[type[ConnectionFailed], tuple[str, bool]]:
        return ConnectionFailed, (str(self), self.passing)
