"""The programs that run while processes die, and what is known of them from what they leave behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol


class Programs(Protocol):
    """``endless`` runs until it is cancelled or stopped, ``short`` ends by itself."""

    uploaded: dict[str, str]
    """kind -> id of the uploaded program"""
    savepoints: Path

    def text(self, kind: str) -> str:
        """A program."""

    def upload(self, kind: str) -> str:
        """Upload one more copy; its id."""

    def body(self, kind: str, job: str) -> dict[str, Any]:
        """With what a program is run as this job."""

    def begin(self, kind: str, program: str | None = None) -> str:
        """Start a job that runs; its id."""

    def grows(self, job: str) -> None:
        """Wait until a job has put out more."""

    def cancel(self, job: str) -> None:
        """Cancel a job, and see that it has put out what it should, each record once."""

    def ran_once(self, job: str, state: str) -> None:
        """The short program has begun once, and put out all, or ended before it began."""

    def savepoints_are_whole(self, job: str, result: str | None) -> None:
        """Savepoints of a job are complete; ``result`` is one of them."""
