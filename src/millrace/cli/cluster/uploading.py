"""``millrace run -m`` with a cluster of another machine or user: the program goes there through the REST API."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, NoReturn

import click

from millrace.cli.cluster.submitting import SUBMITTED, Savepoint
from millrace.cli.options import ProgramOptions
from millrace.cli.program import Program
from millrace.cli.shipping import zip_folder
from millrace.cli.targets import Target
from millrace.cli.verbs.base import failed, failing

if TYPE_CHECKING:
    from millrace.cluster.remote.rest_jobs import RestJobs

POLL_SECONDS = 0.5
_OVER = frozenset(("FINISHED", "CANCELED", "FAILED"))


def run_at(address: str, program: ProgramOptions, found: Program, savepoint: Savepoint, target: Target) -> NoReturn:
    """Upload a program with the Python files beside it, and run it there; exits when its job has ended, or begun."""
    from millrace.cli.verbs.finding import TOKEN
    from millrace.cluster.remote.addresses import url_of
    from millrace.cluster.remote.rest_jobs import RestJobs

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
    """The id of the uploaded program, and the module to run."""
    with tempfile.TemporaryDirectory(prefix="millrace-ship-") as directory:
        path = zip_folder(found.folder, directory)
        module = found.target if found.is_module else os.path.basename(found.target).removesuffix(".py")
        with open(path, "rb") as file:
            answer = jobs.ask("POST", "/jars/upload", files={"jarfile": (f"{module}.zip", file)})
    return os.path.basename(answer["filename"]), module


def _launch(program: ProgramOptions, found: Program, savepoint: Savepoint) -> dict[str, Any]:
    from millrace.datastream.settings.restore_settings import CLAIM_MODE, IGNORE_UNCLAIMED, PATH

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
