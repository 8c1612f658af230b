"""What the client answers itself: HELP, SET, SHOW JOBS, STOP JOB and the like."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from millrace.cli.sql.help import HELP
from millrace.cli.sql.results import cost, listed
from millrace.cli.sql.settings import DEFAULTS, ClientSettings
from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.table import TableResult
from millrace.table.sessions.table_result import listing
from millrace.table.sql import statements as s
from millrace.table.sql.text.errors import SqlError
from millrace.util.secrets import mask_options

if TYPE_CHECKING:
    from millrace.cli.sql.client import Client


class QuitError(Exception):
    """The user wants to leave."""


def _client_command(statement: s.ClientCommand, client: Client) -> bool:
    if statement.name == "QUIT":
        raise QuitError
    if statement.name == "CLEAR":
        client.console.clear()
    else:
        client.console.show(HELP.splitlines())
    return True


def _set(statement: s.Set, client: Client) -> bool:
    begin = time.monotonic()
    if statement.key is None:
        _show(client, ("key", "value"), sorted(mask_options({**DEFAULTS, **client.session.settings()}).items()))
        return True
    _check(client, statement.key, statement.value or "")
    client.session.set(statement.key, statement.value or "")
    client.console.info(f"Execute statement succeeded.{cost(client.settings, begin)}")
    return True


def _check(client: Client, key: str, value: str) -> None:
    """:raises SqlError: a setting of the client cannot be this."""
    ClientSettings.of({**client.session.settings(), key: value})


def _reset(statement: s.Reset, client: Client) -> bool:
    begin = time.monotonic()
    client.session.reset(statement.key)
    client.console.info(f"Execute statement succeeded.{cost(client.settings, begin)}")
    return True


def _show_some(statement: s.Show, client: Client) -> bool:
    if statement.kind == "JOBS":
        _show(client, ("job id", "job name", "status", "start time"), client.jobs.rows())
    elif statement.kind == "JARS":
        _show(client, ("jars",), [])
    else:
        return False
    return True


def _describe_job(statement: s.DescribeJob, client: Client) -> bool:
    job = client.jobs.find(statement.job)
    _show(
        client, ("job id", "job name", "status", "start time"), [row for row in client.jobs.rows() if row[0] == job.id]
    )
    return True


def _stop(statement: s.StopJob, client: Client) -> bool:
    job = client.jobs.find(statement.job)
    if statement.with_drain and not statement.with_savepoint:
        raise SqlError("WITH DRAIN needs a savepoint: STOP JOB '..' WITH SAVEPOINT WITH DRAIN", statement.position)
    if not job.running:
        raise SqlError(f"job {job.id} is over: {job.status.name}")
    if statement.with_savepoint:
        path = job.client.stop_with_savepoint(statement.with_drain).result()
        _show(client, ("savepoint path",), [(path,)])
    else:
        job.told = True
        job.client.cancel().result()
        client.console.info(f"Job {job.id} has been cancelled.")
    return True


def _jar(statement: s.Jar, client: Client) -> bool:
    raise SqlError(
        f"{statement.action} JAR: connectors, formats and functions are Python here. Install a connector with pip, "
        "give modules with functions to the client with -pyfs, and jars for Spark itself with -D spark.jars=PATH",
        statement.position,
    )


def _show(client: Client, names: tuple[str, ...], rows: list[Any]) -> None:
    begin = time.monotonic()
    result: TableResult = listing(tuple(Field(name, t.string()) for name in names), rows)
    client.console.show(listed(result, client.settings, begin))


COMMANDS: dict[type[s.Statement], Callable[[Any, Client], bool]] = {
    s.ClientCommand: _client_command,
    s.Set: _set,
    s.Reset: _reset,
    s.Show: _show_some,
    s.DescribeJob: _describe_job,
    s.StopJob: _stop,
    s.Jar: _jar,
}
"""Statement -> what answers it; False: it is the environment's after all."""
