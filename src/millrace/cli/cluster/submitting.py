"""``millrace run`` with a cluster or a session: decides whether a program runs there, submits it, waits for its end.

A program goes to a cluster of another machine or user (``-m``) through the REST API.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn

import click

from millrace.cli.command_line import failed, failing
from millrace.cli.options import LOCAL, ProgramOptions, Target
from millrace.cli.program import Program, zip_folder

if TYPE_CHECKING:
    from types import FrameType

    from millrace.cli.run import Manner
    from millrace.cluster.rest_jobs import RestJobs
    from millrace.cluster.run_folder import RunEntry


Savepoint = tuple[tuple[str, str], ...]
"""Options of a restore from a savepoint."""
BEGIN_SECONDS = 120.0
"""How long ``-d`` waits until the program has started a job."""
LOOK_SECONDS = 0.05
SUPERVISOR_SECONDS = 0.5
"""How often an attached command looks for a new supervisor after the old one has died."""
SUBMITTED = "Job has been submitted with JobID"


def something_runs() -> bool:
    """Whether a cluster may be running; costs nothing if none is."""
    from importlib.util import find_spec

    folder = os.environ.get("MILLRACE_RUN_DIR") or os.path.join(os.path.expanduser("~"), ".millrace", "run")
    try:
        return bool(os.listdir(folder)) and find_spec("msgspec") is not None
    except OSError:
        return False


def cluster_for(program: ProgramOptions, target: Target) -> RunEntry | str | None:
    """The cluster of this machine that takes the program, or the address of another; None: it runs in this process.

    Raises click's error if the cluster does not exist or is ambiguous.
    """
    if target.kind == LOCAL and not target.detached:
        return None
    if names_spark(program) and not target.wants_cluster:
        return None
    found = _clusters() if something_runs() else []
    if target.address is not None:
        from millrace.cluster.addresses import same_address

        for each in found:
            if target.address == each.name or same_address(target.address, each.entry.address):
                return each
        return target.address
    if len(found) > 1:
        listed = "\n".join(f"  -m {(each.entry.address or each.name).removeprefix('http://')}" for each in found)
        raise click.UsageError(f"several clusters run, say which one (-t local: none of them):\n{listed}")
    if not found and target.wants_cluster:
        raise click.UsageError(
            "no cluster runs: start one with `millrace cluster start`; nearest without one: put the command into the "
            "background with `&`, or with `nohup millrace run ... &` to log out"
        )
    return found[0] if found else None


def names_spark(program: ProgramOptions) -> bool:
    """Whether a program names the Spark that it runs on, which then belongs to it alone."""
    return program.master is not None or not {"spark.master", "millrace.master"}.isdisjoint(dict(program.properties))


def _clusters() -> list[RunEntry]:
    from millrace.cli.job_lookup import clusters

    return clusters()


def submit_to(
    cluster: RunEntry | str,
    program: ProgramOptions,
    found: Program,
    savepoint: Savepoint,
    target: Target,
    manner: Manner | None = None,
) -> NoReturn:
    """Submit a program to a cluster; exits as the program does, with -d once its job has started.

    :param manner: how the program's progress is shown; None: as programs on a cluster do.
    """
    if not isinstance(cluster, str):
        _run_on(cluster, program, savepoint, target, manner)

    run_at(cluster, program, found, savepoint, target)


def _run_on(
    cluster: RunEntry, program: ProgramOptions, savepoint: Savepoint, target: Target, manner: Manner | None
) -> NoReturn:
    """Submit to a cluster of this user on this machine."""
    from millrace.cluster import submissions

    submitted = submissions.SubmittedProgram(
        submissions.new_id(),
        os.getcwd(),
        program.python or program.module or program.words[0],
        asdict(program),
        savepoint,
        dict(os.environ),
        tuple(path for path in sys.path if path),
        sys.prefix,
        isolated=target.isolated or names_spark(program),
        attached=not target.detached,
        plain=manner is not None,
        quiet=manner is not None and manner.quiet,
        verbose=manner is not None and manner.verbose,
        submitted=time.time_ns() // 1_000_000,
    )
    submissions.submit(cluster.folder, submitted)
    sys.exit(_detached(cluster, submitted.id) if target.detached else _attached(cluster, submitted.id))


# -- detached -------------------------------------------------------------------------------------------------------


def _detached(cluster: RunEntry, id: str) -> int:
    from millrace.cluster import job_folder, submissions
    from millrace.cluster.rpc import NotThereError, ask

    with contextlib.suppress(NotThereError):  # it finds the submission when it is there again
        ask(_socket(cluster), "the supervisor of the cluster", "submitted", id=id)
    until = time.monotonic() + BEGIN_SECONDS
    while time.monotonic() < until:
        program = job_folder.place_of(cluster.folder, id)
        outcome = None if program is None else submissions.read_outcome(program)
        begun = program is not None and job_folder.read_documents(program)
        if outcome is not None and outcome.exit_code:
            log = os.path.join(cluster.folder, job_folder.LOGS, f"{id}.log")
            why = outcome.text or job_folder.tail(log) or f"the program has ended with exit code {outcome.exit_code}"
            click.echo(why, err=True)
            return outcome.exit_code
        if begun or outcome is not None:
            click.echo(f"{SUBMITTED} {id}")
            return 0
        time.sleep(LOOK_SECONDS)
    click.echo(f"{SUBMITTED} {id}")
    click.echo(f"the program has not begun a job for {BEGIN_SECONDS:g} s: `millrace list` shows it", err=True)
    return 0


# -- attached -------------------------------------------------------------------------------------------------------


def _attached(cluster: RunEntry, id: str) -> int:
    """Lend the program this command's streams, forward signals to it, and wait for its end.

    If the supervisor dies, the program continues; the next supervisor gets the streams again, for the process that it
    starts should this one die, too.
    """
    from millrace.cluster.rpc import NotThereError, connect, receive, send

    sys.stdout.flush()
    announced = False
    while True:
        try:
            with connect(_socket(cluster), "the supervisor of the cluster") as connection:
                send(connection, {"call": "submitted", "id": id}, [0, 1, 2])
                connection.settimeout(None)
                with _signals_to(cluster, id, connection):
                    while True:
                        message, _ = receive(connection)
                        if "exit" in message:
                            return int(message["exit"])
                        if message.get("result") is False:
                            return _outcome(cluster, id)  # it runs without these streams
        except (NotThereError, EOFError, OSError):
            if not announced:
                text = f"the supervisor of the cluster has ended; program {id} goes on: see `millrace list`"
                click.echo(text, err=True)
                announced = True
            with _signals_to(cluster, id, None):
                over = _look(cluster, id)
                time.sleep(SUPERVISOR_SECONDS if over is None else 0)
            if over is not None:
                return over


def _look(cluster: RunEntry, id: str) -> int | None:
    """How a program has ended, read from its folder; None: it has not."""
    from millrace.cluster import job_folder, submissions

    program = job_folder.place_of(cluster.folder, id)
    if program is None:
        return 1  # the folder of the cluster is gone
    outcome = submissions.read_outcome(program)
    return None if outcome is None else outcome.exit_code


def _outcome(cluster: RunEntry, id: str) -> int:
    """Wait for the end of a program by polling its folder."""
    while (found := _look(cluster, id)) is None:
        time.sleep(1)
    return found


@contextlib.contextmanager
def _signals_to(cluster: RunEntry, id: str, connection: socket.socket | None) -> Iterator[None]:
    """Forward Ctrl-C: the first cancels the job, the second ends the program. Without a supervisor the program's
    process gets the signal itself."""
    from millrace.cluster import job_folder, submissions
    from millrace.cluster.rpc import send

    def hand_on(number: int, _: FrameType | None) -> None:
        if connection is not None:
            with contextlib.suppress(OSError):
                send(connection, {"call": "signal", "number": number})
                return
        program = job_folder.place_of(cluster.folder, id)
        for process in [] if program is None else submissions.attempts(program)[-1:]:
            if process.is_alive:
                os.kill(process.pid, number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
    before = {number: signal.signal(number, hand_on) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _socket(cluster: RunEntry) -> str:
    from millrace.cluster import rpc

    return rpc.socket_path(cluster.folder, rpc.SUPERVISOR)


# Clusters of other machines

POLL_SECONDS = 0.5
_OVER = frozenset(("FINISHED", "CANCELED", "FAILED"))


def run_at(address: str, program: ProgramOptions, found: Program, savepoint: Savepoint, target: Target) -> NoReturn:
    """Upload a program with the Python files beside it to another cluster, and run it there; exits when its job has
    ended, with -d when it has started."""
    from millrace.cli.job_lookup import TOKEN
    from millrace.cluster.addresses import url_of
    from millrace.cluster.rest_jobs import RestJobs

    _refuse_what_stays_here(program)
    jobs = RestJobs(url_of(address), os.environ.get(TOKEN))
    with failing("The program could not be submitted."):
        uploaded, entry = _upload(jobs, found)
        body = {**_launch(program, found, savepoint), **({"entryClass": entry} if entry else {})}
        job = jobs.ask("POST", f"/jars/{uploaded}/run", json=body)["jobid"]
    click.echo(f"{SUBMITTED} {job}")
    sys.exit(0 if target.detached else _wait(jobs, job))


def _refuse_what_stays_here(program: ProgramOptions) -> None:
    given = {
        "-pyfs": program.files,
        "-pyarch": program.archives,
        "-pyreq": program.requirements,
        "-pyexec": program.executable,
    }
    for name, value in given.items():
        if value:
            raise click.UsageError(
                f"{name} names files of this machine, and the cluster is on another: nearest: keep the program's "
                "modules in its folder, and what else it needs on that machine"
            )


def _upload(jobs: RestJobs, found: Program) -> tuple[str, str | None]:
    """Upload the program; returns its id and the module to run."""
    with tempfile.TemporaryDirectory(prefix="millrace-ship-") as directory:
        path = zip_folder(found.folder, directory)
        module = found.target if found.is_module else os.path.basename(found.target).removesuffix(".py")
        with open(path, "rb") as file:
            answer = jobs.ask("POST", "/jars/upload", files={"jarfile": (f"{module}.zip", file)})
    return os.path.basename(answer["filename"]), module


def _launch(program: ProgramOptions, found: Program, savepoint: Savepoint) -> dict[str, Any]:
    from millrace.datastream.settings import CLAIM_MODE, IGNORE_UNCLAIMED, PATH

    restore = dict(savepoint)
    body: dict[str, Any] = {
        "programArgsList": list(found.arguments),
        "flinkConfiguration": dict(program.properties),
        "allowNonRestoredState": restore.get(IGNORE_UNCLAIMED) == "true",
    }
    if program.parallelism is not None:
        body["parallelism"] = program.parallelism
    if PATH in restore:
        body["savepointPath"] = restore[PATH]
    if CLAIM_MODE in restore:
        body["claimMode"] = restore[CLAIM_MODE].upper()
    return body


def _wait(jobs: RestJobs, job: str) -> int:
    """Wait for the end of a job. Ctrl-C cancels it."""
    try:
        with failing(f"Job {job} could not be watched; it goes on."):
            while (state := jobs.state(job)) not in _OVER:
                time.sleep(POLL_SECONDS)
            result = jobs.ask("GET", f"/jobs/{job}/execution-result")
    except KeyboardInterrupt:
        jobs.cancel(job)
        click.echo("cancelled", err=True)
        return 130
    if state != "FINISHED":
        cause = result.get("job-execution-result", {}).get("failure-cause", {})
        failed(f"Job {job} is {state}.", str(cause.get("stack-trace", state)).strip())
    runtime = result.get("job-execution-result", {}).get("net-runtime", 0)
    click.echo(f"Program execution finished\nJob with JobID {job} has finished.\nJob Runtime: {runtime} ms")
    return 0


# The session that is there


def session_for(program: ProgramOptions, target: Target) -> RunEntry | None:
    """The session that takes the program; None: the program gets a Spark of its own, by request or necessity."""
    if target.kind is not None or target.isolated or names_spark(program) or not something_runs():
        return None
    from millrace.cli.program import configured

    return fitting_session(configured(program))


def fitting_session(configuration: Mapping[str, str]) -> RunEntry | None:
    """The running session, if its settings are those that the program would start its own Spark with; otherwise prints
    why it is not used."""
    if "millrace.master" in configuration or not something_runs():
        return None
    from millrace.cluster import run_folder
    from millrace.cluster.job_folder import read_facts, versions, why_not
    from millrace.cluster.run_folder import describe_engine

    found = run_folder.find(run_folder.SESSION)
    if not found:
        return None
    try:
        reason = why_not(read_facts(found[0].folder), configuration, versions())
    except (OSError, ValueError):
        reason = "it cannot be read"
    if reason is None and describe_engine(found[0].folder) is None:
        reason = "its Spark is not there"
    if reason is None:
        return found[0]
    click.echo(f"not on the session: {reason}", err=True)
    return None
