"""Collects the jobs of a program for ``millrace lint``, without running any of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from millrace.common.jobs import JobID
from millrace.graph.lowering import run_passes
from millrace.lint import Subject

if TYPE_CHECKING:
    from millrace.cli.plan_verbs import Rehearsal
    from millrace.datastream.job_settings import JobSettings
    from millrace.datastream.settings import Submission
    from millrace.graph.program import Graph
    from millrace.runtime.operators.job_graph import JobGraph


class _FarEnoughError(BaseException):
    """Ends the program where it would wait for a job; the program's ``except Exception`` does not catch it."""


class _NotStarted:
    """The client of a job that is not run. A program that uses more than its id is ended."""

    def __init__(self) -> None:
        self._id = JobID.generate()

    def get_job_id(self) -> JobID:
        return self._id

    def collected(self) -> Iterator[Any]:
        raise _FarEnoughError
        yield  # a generator: only reading it ends the program

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        if name.startswith("__"):
            raise AttributeError(name)
        return _end


def _end(*_: Any, **__: Any) -> NoReturn:
    raise _FarEnoughError


@dataclass(frozen=True)
class ProgramJobs:
    """The jobs of a program."""

    subjects: tuple[Subject, ...]
    queries: int
    """number of queries in batch mode, which Spark plans: rules don't apply to them"""


def jobs_of(rehearsal: Rehearsal) -> ProgramJobs:
    """Run a program up to the first wait for a job, or to its end. Submitted jobs are not run. Raises the program's
    errors, and ``SystemExit`` if it exits."""
    subjects: list[Subject] = []
    queries = 0
    program = rehearsal.program
    file = "" if program.is_module else os.path.abspath(program.target)

    def note(submission: Submission) -> Any:
        nonlocal queries
        if submission.graph is None or submission.prepare is None:
            queries += 1
        else:
            subjects.append(_subject(file, submission.graph(), submission.prepare))
        return _NotStarted()

    try:
        rehearsal.run(note)
    except _FarEnoughError:
        pass
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    return ProgramJobs(tuple(subjects), queries)


def _subject(file: str, made: Graph, prepare: Callable[[], tuple[JobGraph, JobSettings]]) -> Subject:
    _, settings = prepare()  # reports errors of the configuration; the environment's program is empty afterwards
    return Subject(file, made, run_passes(made), settings.checkpoints is not None)
