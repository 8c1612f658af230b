"""Statements from files and command lines."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.cli.sql.client import Client
from millrace.cli.sql.commands import QuitError

FAILED = 1
"""Exit code: a statement, or the job of an INSERT, failed."""


@dataclass(frozen=True)
class Script:
    """SQL, and the file that it comes from."""

    text: str
    name: str | None = None


def run_scripts(client: Client, scripts: list[Script]) -> int:
    """Run the statements up to the first that fails, then wait for the jobs that they have started; the exit code."""
    try:
        for script in scripts:
            if not client.run(script.text, script.name):
                _tell_cancelled(client)
                return FAILED
    except QuitError:
        pass
    # The end of the script is not that of its jobs.
    client.executor.wait_for_jobs()
    return FAILED if client.tell_failed_jobs() else 0


def _tell_cancelled(client: Client) -> None:
    for job in client.executor.running():
        client.console.warning(f"{job} runs, and is cancelled.")
