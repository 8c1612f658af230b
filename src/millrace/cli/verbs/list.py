"""``millrace list``: the jobs that run, wait, or have ended."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from millrace.cli.verbs.base import failing, verb, where_options

if TYPE_CHECKING:
    from millrace.cluster.remote.elsewhere import JobLine

WIDTH = 62
_OVER = frozenset(("FINISHED", "CANCELED", "FAILED"))


@verb("list")
@click.argument("words", metavar="", nargs=-1, expose_value=False)  # Flink's command ignores them
@click.option("-r", "--running", is_flag=True, help="Only jobs that run or restart.")
@click.option("-s", "--scheduled", is_flag=True, help="Only jobs that wait for their beginning.")
@click.option("-a", "--all", "all_", is_flag=True, help="Also jobs that have ended.")
@where_options
def list_jobs(
    running: bool, scheduled: bool, all_: bool, address: str | None, properties: tuple[str, ...]
) -> None:
    """List the jobs of a cluster, or of a program in the foreground."""
    from millrace.cli.verbs.finding import jobs_at

    if not running and not scheduled and not all_:
        running = scheduled = True
    click.echo("Waiting for response...")
    with failing("Failed to retrieve job list."):
        jobs = jobs_at(address, properties).jobs()
    waiting = [job for job in jobs if job.state in ("CREATED", "INITIALIZING")]
    over = [job for job in jobs if job.state in _OVER]
    others = [job for job in jobs if job not in waiting and job not in over]
    if running or all_:
        _show("Running/Restarting Jobs", "No running jobs.", others)
    if scheduled or all_:
        _show("Scheduled Jobs", "No scheduled jobs.", waiting)
    if all_ and over:
        _show("Terminated Jobs", "", over)


def _show(title: str, none: str, jobs: Iterable[JobLine]) -> None:
    lines = [line(job) for job in sorted(jobs, key=lambda job: (job.started, job.id))]
    if not lines:
        click.echo(none)
        return
    click.echo(heading(title))
    for each in lines:
        click.echo(each)
    click.echo("-" * WIDTH)


def heading(title: str) -> str:
    """The title amid dashes, as long as Flink's lines."""
    rest = WIDTH - len(title) - 2
    return f"{'-' * (rest // 2)} {title} {'-' * (rest - rest // 2)}"


def line(job: JobLine) -> str:
    """``30.11.2020 16:02:29 : 5e20cb6b0f357591171dfcca2eea09de : words (RUNNING)``"""
    began = time.strftime("%d.%m.%Y %H:%M:%S", time.localtime(job.started / 1000))
    return f"{began} : {job.id} : {job.name} ({job.state})"
