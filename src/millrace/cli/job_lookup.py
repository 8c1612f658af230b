"""Finds the cluster, or the program in the foreground, that a verb refers to; prints progress while a verb waits.

Importing this module costs next to nothing.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from millrace.cli.options import key_values
from millrace.cluster import run_folder
from millrace.cluster.run_folder import Entry, RunEntry, describe_server

if TYPE_CHECKING:
    from millrace.cluster.control import JobsElsewhere


def clusters() -> list[RunEntry]:
    """All living clusters of this user on this machine."""
    found = []
    for each in run_folder.find(run_folder.CLUSTER):
        server = describe_server(each.folder)
        entry = each.entry
        shown = Entry(entry.kind, entry.process, server.url if server else None, entry.program, entry.began)
        found.append(RunEntry(each.folder, shown, each.token))
    return found


TOKEN = "MILLRACE_TOKEN"
"""Environment variable with the token of a cluster of another machine."""
NOTHING_RUNS = "nothing runs: no cluster (`millrace cluster start`), and no `millrace run` in the foreground"


def jobs_at(address: str | None, properties: tuple[str, ...] = (), job: str | None = None) -> JobsElsewhere:
    """The jobs that a verb refers to: those at the address, else of the only cluster or program that runs; with
    several, of the one that has the job.

    :raises ElsewhereError: it is not there, or not clear.
    """
    from millrace.cluster.addresses import named_in
    from millrace.cluster.control import ElsewhereError

    address = address or named_in(dict(key_values(properties)))
    found = _found()
    if address is not None:
        return at_address(address, found)
    if not found:
        raise ElsewhereError(NOTHING_RUNS)
    if len(found) == 1:
        return jobs_of(found[0])
    having = [each for each in found if job is not None and _has(each, job)]
    if len(having) == 1:
        return jobs_of(having[0])
    listed = "\n".join(f"  -m {_short(each)}  {each.described}" for each in found)
    raise ElsewhereError(f"several run, say which one:\n{listed}")


def at_address(address: str, found: list[RunEntry]) -> JobsElsewhere:
    """The jobs at an address, or of the cluster or program with that name."""
    from millrace.cluster.addresses import same_address, url_of
    from millrace.cluster.rest_jobs import RestJobs

    for each in found:
        if address == each.name or same_address(address, each.entry.address):
            return jobs_of(each)
    return RestJobs(url_of(address), os.environ.get(TOKEN))


def jobs_of(found: RunEntry) -> JobsElsewhere:
    """The jobs of an entry of the run folder: of clusters by REST, of a program by its socket."""
    from millrace.cluster import rpc, run_folder
    from millrace.cluster.control import ElsewhereError
    from millrace.cluster.rest_jobs import RestJobs
    from millrace.cluster.socket_control import SocketJobs

    if found.entry.kind == run_folder.FOREGROUND:
        return SocketJobs(rpc.socket_path(found.folder, rpc.CONTROL))
    if found.entry.address is None:
        raise ElsewhereError(f"the server of the cluster {found.name!r} is not there (it is just being started?)")
    return RestJobs(found.entry.address, found.token)


def _found() -> list[RunEntry]:
    from millrace.cluster import run_folder

    sessions = (program for each in run_folder.find(run_folder.SESSION) for program in on_session(each))
    return [*clusters(), *sessions, *run_folder.find(run_folder.FOREGROUND)]


def on_session(session: RunEntry) -> Iterator[RunEntry]:
    """The programs in a session, which has no server: each is reached as a program in the foreground is."""
    from millrace.cluster import job_folder, run_folder, submissions
    from millrace.cluster.submissions import read_submission

    for name in job_folder.names(session.folder, job_folder.JOBS):
        folder = os.path.join(session.folder, job_folder.JOBS, name)
        with contextlib.suppress(OSError, ValueError):  # it has just ended
            submission = read_submission(folder)
            for process in submissions.attempts(folder)[-1:]:
                entry = run_folder.Entry(run_folder.FOREGROUND, process, None, submission.name, submission.submitted)
                yield run_folder.RunEntry(folder, entry)


def _short(found: RunEntry) -> str:
    return (found.entry.address or found.name).removeprefix("http://")


def _has(found: RunEntry, job: str) -> bool:
    from millrace.cluster.control import ElsewhereError

    try:
        return any(each.id == job for each in jobs_of(found).jobs())
    except ElsewhereError:
        return False


EVERY_SECONDS = 5.0


@contextmanager
def telling(address: str | None, properties: tuple[str, ...], job: str) -> Iterator[None]:
    """Print progress on standard error every five seconds: the job's epoch, its start, and what it waits for."""
    over = threading.Event()
    teller = threading.Thread(target=_tell, args=(address, properties, job, over), daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()


def _tell(address: str | None, properties: tuple[str, ...], job: str, over: threading.Event) -> None:
    from millrace.cluster.control import ElsewhereError

    while not over.wait(EVERY_SECONDS):
        try:
            line = jobs_at(address, properties, job).document(job).at_work
        except ElsewhereError:
            continue  # the waiting call will report it
        if line and not over.is_set():
            click.echo(f"Still waiting: {line}", err=True)
