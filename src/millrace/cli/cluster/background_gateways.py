"""Starts and stops SQL gateways in the background, as Flink's ``sql-gateway.sh`` does."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping

import click

from millrace.cluster import run_folder
from millrace.cluster.job_folder import tail
from millrace.cluster.run_folder import RunEntry
from millrace.util.folders import make_private

START_SECONDS = 120.0
STOP_SECONDS = 10.0
LOOK_SECONDS = 0.05
LOG_DIRECTORY = "env.log.dir"


def start(configuration: Mapping[str, str]) -> None:
    """Start a gateway in the background with the options of this command, and wait until it listens.

    :raises click.ClickException: it does not.
    """
    host = socket.gethostname()
    running = _running()
    if running:
        click.echo(f"[INFO] {len(running)} instance(s) of sql-gateway are already running on {host}.")
    click.echo(f"Starting sql-gateway daemon on host {host}.")
    name = f"sql-gateway-{os.getpid()}-{time.time_ns():x}"
    folder = run_folder.new_folder(name)
    log = os.path.join(_log_folder(configuration), f"{name}.log")
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "millrace", *sys.argv[1:], "--folder", folder],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        found = run_folder.read_entry(folder)
        if found is not None and found.entry.process.pid == process.pid:
            click.echo(f"The SQL gateway listens at {found.entry.address}, process {process.pid}")
            click.echo(f"token: {found.token}")
            click.echo(f"log: {log}")
            return
        time.sleep(LOOK_SECONDS)
    code = process.poll()
    process.kill()
    process.wait()
    shutil.rmtree(folder, ignore_errors=True)
    why = f"not ready after {START_SECONDS:g} s" if code is None else f"exit code {code}"
    raise click.ClickException(f"the SQL gateway has not begun ({why}): {tail(log)}")


def stop(all_of_them: bool) -> Iterator[str]:
    """Stop the gateway that was started last, or all; returns a line for each."""
    host = socket.gethostname()
    running = _running()[::-1]
    if not running:
        yield f"No sql-gateway daemon to stop on host {host}."
    for found in running if all_of_them else running[:1]:
        yield f"Stopping sql-gateway daemon (pid: {found.entry.process.pid}) on host {host}."
        if not _ended(found, signal.SIGTERM, STOP_SECONDS):
            yield f"Daemon sql-gateway didn't stop within {STOP_SECONDS:g} seconds. Killing it."
            _ended(found, signal.SIGKILL, STOP_SECONDS)
            shutil.rmtree(found.folder, ignore_errors=True)


def _running() -> list[RunEntry]:
    """The living gateways in the background, the oldest first. Each is identified by pid and start time."""
    return [each for each in run_folder.find(run_folder.GATEWAY) if each.entry.background]


def _ended(found: RunEntry, number: int, seconds: float) -> bool:
    process = found.entry.process
    with contextlib.suppress(ProcessLookupError):
        if process.is_alive:
            os.kill(process.pid, number)
    until = time.monotonic() + seconds
    while process.is_alive and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
    return not process.is_alive


def _log_folder(configuration: Mapping[str, str]) -> str:
    chosen = configuration.get(LOG_DIRECTORY)
    path = chosen or os.path.join(os.path.dirname(run_folder.run_folder()), "log")
    if chosen is None:
        make_private(path)
    else:
        os.makedirs(path, exist_ok=True)
    return path
