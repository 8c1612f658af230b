"""Starts the SQL client, in this process or at a gateway, for scripts or for a prompt."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from millrace.cli.options import TARGET, ProgramOptions
from millrace.cli.program import Program, RunSettings, run_settings
from millrace.cli.program_jobs import hooks
from millrace.cli.sql.client import Client, Screen
from millrace.cli.sql.environment import EnvironmentFileError, environment_script
from millrace.cli.sql.executor import Embedded, Executor, QuitError
from millrace.cli.sql.results import ClientSettings, Console
from millrace.cluster.gateway.sql_session import SqlJobs, SqlSession, asked_for
from millrace.spark.sessions.own_jvm import begun_ahead
from millrace.table.sql.text import SqlError

if TYPE_CHECKING:
    from millrace.cli.sql.remote import Remote


TOKEN = "security.rest.token"
TOKEN_VARIABLE = "MILLRACE_REST_TOKEN"
_OWN = ("rest.", "sql-gateway.", "security.")
_GATEWAYS = {
    "master": "--master",
    "files": "-pyfs",
    "archives": "-pyarch",
    "requirements": "-pyreq",
    "executable": "-pyexec",
}
"""options of the command line that a session of a gateway cannot take, since they belong to the gateway's process"""


@contextlib.contextmanager
def open_session(endpoint: str, program: ProgramOptions, configuration: Mapping[str, str]) -> Iterator[Remote]:
    """Open a session at a gateway, for as long as the client runs.

    :raises click.ClickException: there is no session, or an option that a client of a gateway can't follow."""
    for field, name in _GATEWAYS.items():
        if getattr(program, field):
            raise click.UsageError(
                f"{name} is for the process that runs the statements: give it to millrace sql-gateway"
            )
    try:
        from millrace.cli.sql.remote import Remote
        from millrace.cluster.sql_client import GatewayClientError, RemoteSession
    except ImportError as error:
        raise click.ClickException(str(error)) from None
    token = configuration.get(TOKEN) or os.environ.get(TOKEN_VARIABLE) or _token_here(endpoint)
    properties = {key: value for key, value in configuration.items() if not key.startswith(_OWN)}
    try:
        session = RemoteSession(endpoint, token, properties, "millrace sql")
        remote = Remote(session)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except GatewayClientError as error:
        raise click.ClickException(str(error)) from None
    try:
        yield remote
    finally:
        session.close()


def _token_here(endpoint: str) -> str | None:
    """The token of a gateway or a cluster that this user has started on this machine."""
    try:
        from millrace.cluster.client import known_token
    except ImportError:
        return None  # then neither is installed here
    parts = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
    return known_token(f"{parts.scheme}://{parts.netloc}")


FAILED = 1
"""Exit code: a statement, or the job of an INSERT, failed."""


@dataclass(frozen=True)
class Script:
    """SQL with the name of its file."""

    text: str
    name: str | None = None


def run_scripts(client: Client, scripts: list[Script]) -> int:
    """Run the statements up to the first one that fails, then wait for the jobs that they have started; returns the
    exit code."""
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


STOPPED = 130
"""Exit code: Ctrl-C."""


@dataclass(frozen=True)
class Start:
    """The options of the SQL client."""

    program: ProgramOptions
    directory: str
    """folder for files that are made for the workers"""
    init: str | None = None
    file: str | None = None
    statements: str | None = None
    history: str | None = None
    endpoint: str | None = None
    """address of the gateway where statements run; None: this process"""
    environment: str | None = None
    """environment file of Flink's older clients"""

    @property
    def interactive(self) -> bool:
        return self.file is None and self.statements is None and sys.stdin.isatty()


def start(wishes: Start) -> int:
    """Run the client to its end; returns the exit code."""
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
    """Attach to the running session's Spark if it fits; returns the function that announces a job to it."""
    from millrace.cli.cluster.submitting import fitting_session

    if configuration.get(TARGET) is not None or (found := fitting_session(configuration)) is None:
        return None
    from millrace.cluster import rpc
    from millrace.cluster.processes.engine import attach_to_engine
    from millrace.cluster.rpc import NotThereError, connect

    try:
        # As long as this connection is open, the session is in use.
        _held.append(connect(rpc.socket_path(found.folder, rpc.SUPERVISOR), "the session"))
        return attach_to_engine(found.folder, f"sql-{os.getpid()}")
    except NotThereError as error:
        click.echo(f"not on the session: {error}", err=True)
        return None


_held: list[socket.socket] = []


def _remote(wishes: Start, settings: RunSettings, console: Console) -> int:

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
    """The statements to run before all others."""
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
