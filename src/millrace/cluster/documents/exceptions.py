"""Why a job has failed or restarted."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ExceptionDocument:
    """One failure, with those that came at the same time."""

    name: str
    """class of the exception"""
    text: str
    """what a user reads first: operator, line, cause"""
    stacktrace: str
    at: int
    """ms"""
    task: str | None = None
    """``Map -> Sink (1/2) - execution #0``; None: it is nobody's in particular"""
    host: str | None = None
    task_manager: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    concurrent: tuple[ExceptionDocument, ...] = ()
    root: bool = True
    """whether the job failed or restarted because of it"""
