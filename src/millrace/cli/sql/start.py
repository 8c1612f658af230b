"""Makes the client of a command line, and lets it run scripts or answer a prompt."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from millrace.cli.hooks import hooks
from millrace.cli.options import ProgramOptions
from millrace.cli.program import Program
from millrace.cli.settings import RunSettings, run_settings
from millrace.cli.sql.client import Client, Screen
from millrace.cli.sql.console import Console
from millrace.cli.sql.embedded import Embedded
from millrace.cli.sql.environment import EnvironmentFileError, environment_script
from millrace.cli.sql.executor import Executor
from millrace.cli.sql.script import FAILED, Script, run_scripts
from millrace.cli.sql.settings import ClientSettings
from millrace.cli.targets import TARGET
from millrace.cluster.sql.clusters import asked_for
from millrace.cluster.sql.jobs import SqlJobs
from millrace.cluster.sql.session import SqlSession
from millrace.spark.sessions.jvm_ahead import begun_ahead
from millrace.table.sql.text.errors import SqlError

STOPPED = 130
"""Exit code: Ctrl-C."""


@dataclass(frozen=True)
class Start:
    """What a command line says."""

    program: ProgramOptions
    directory: str
    """for what is made on the way to the workers"""
    init: str | None = None
    file: str | None = None
    statements: str | None = None
    history: str | None = None
    endpoint: str | None = None
    """address of the gateway where statements run; None: here"""
    environment: str | None = None
    """environment file of Flink's older clients"""

    @property
    def interactive(self) -> bool:
        return self.file is None and self.statements is None and sys.stdin.isatty()


def start(wishes: Start) -> int:
    """Run the client to its end; the exit code."""
    settings = run_settings(wishes.program, Program("sql", True, ()), wishes.directory)
    console = Console(messages_apart=not wishes.interactive)
    try:
        return (_embedded if wishes.endpoint is None else _remote)(wishes, settings, console)
    except KeyboardInterrupt:
        console.info("cancelled")
        return STOPPED


def _embedded(wishes: Start, settings: RunSettings, console: Console) -> int:
    # Functions that CREATE FUNCTION names are found where the client was started, and with -pyfs.
    sys.path[:0] = [os.getcwd(), *settings.paths]
    jobs = SqlJobs(
        console.say if wishes.interactive else lambda _: None, lambda: asked_for(executor.session.settings())
    )
    announce = _on_session(settings.configuration)
    listener = jobs.listener if announce is None else partial(jobs.listener, announce)
    elsewhere = announce is not None or settings.configuration.get(TARGET) is not None
    ahead = contextlib.nullcontext() if elsewhere else begun_ahead(settings.configuration)
    with ahead, hooks(settings, jobs.submit, listener, pyflink=True):
        try:
            executor = Embedded(SqlSession(settings.configuration), jobs)
            ClientSettings.of(executor.settings())
        except SqlError as error:
            raise click.UsageError(str(error)) from None
        try:
            return _run(wishes, executor, console)
        finally:
            jobs.cancel()


def _on_session(configuration: Mapping[str, str]) -> Callable[[str], None] | None:
    """Share the Spark of the session, if there is one that fits: what is to be told of each job."""
    from millrace.cli.session.choosing import fitting_session

    if configuration.get(TARGET) is not None or (found := fitting_session(configuration)) is None:
        return None
    from millrace.cluster.places import sockets
    from millrace.cluster.processes.attaching import attach_to_engine
    from millrace.cluster.wire.asking import NotThereError, connect

    try:
        # As long as this connection is open, the session is in use.
        _held.append(connect(sockets.socket_path(found.folder, sockets.SUPERVISOR), "the session"))
        return attach_to_engine(found.folder, f"sql-{os.getpid()}")
    except NotThereError as error:
        click.echo(f"not on the session: {error}", err=True)
        return None


_held: list[socket.socket] = []


def _remote(wishes: Start, settings: RunSettings, console: Console) -> int:
    from millrace.cli.sql.endpoint import open_session

    with open_session(wishes.endpoint or "", wishes.program, settings.configuration) as executor:
        try:
            ClientSettings.of(executor.settings())
        except SqlError as error:
            raise click.UsageError(str(error)) from None
        return _run(wishes, executor, console)


def _run(wishes: Start, executor: Executor, console: Console) -> int:
    init = _first(wishes)
    if not wishes.interactive:
        return run_scripts(Client(executor, console), [*init, _script(wishes)])
    _require_prompt()
    from millrace.cli.sql.prompt import interact
    from millrace.cli.sql.screen import show_on_screen

    screen: Screen = show_on_screen
    client = Client(executor, console, screen)
    for script in init:
        if not client.run(script.text, script.name):
            return FAILED
    interact(client, wishes.history)
    return 0


def _first(wishes: Start) -> list[Script]:
    """What runs before all else."""
    found = []
    if wishes.environment is not None:
        try:
            found.append(Script(environment_script(wishes.environment)))
        except EnvironmentFileError as error:
            raise click.UsageError(str(error)) from None
        except ImportError as error:
            raise click.ClickException(str(error)) from None
    return found if wishes.init is None else [*found, _file(wishes.init)]


def _script(wishes: Start) -> Script:
    if wishes.file is not None:
        return _file(wishes.file)
    return Script(sys.stdin.read() if wishes.statements is None else wishes.statements)


def _file(path: str) -> Script:
    return Script(Path(path).read_text("utf-8"), path)


def _require_prompt() -> None:
    try:
        import prompt_toolkit  # noqa: F401
    except ImportError:
        raise click.ClickException(
            "the prompt needs the package prompt-toolkit: pip install 'millrace-streaming[sql]'; "
            "-f FILE and -e SQL work without"
        ) from None
