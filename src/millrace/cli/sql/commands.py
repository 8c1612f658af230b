"""What the client answers itself: HELP, SET, SHOW JOBS, STOP JOB and the like."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from millrace.cli.sql.help import HELP
from millrace.cli.sql.results import cost, listed
from millrace.cli.sql.settings import DEFAULTS, ClientSettings
from millrace.table.result_kind import ResultKind
from millrace.table.sql import statements as s

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
    if statement.key is not None:
        # Raises if a setting of the client itself cannot be this.
        ClientSettings.of({**client.executor.settings(), statement.key: statement.value or ""})
    return _of_session(statement, client)


def _of_session(statement: s.Statement, client: Client) -> bool:
    begin = time.monotonic()
    result = client.executor.answer(statement, DEFAULTS)
    if result is None:
        return False
    if result.get_result_kind() is ResultKind.SUCCESS_WITH_CONTENT:
        client.console.show(listed(result, client.settings, begin))
    elif isinstance(statement, s.StopJob):
        client.console.info(f"Job {statement.job} has been cancelled.")
    else:
        client.console.info(f"Execute statement succeeded.{cost(client.settings, begin)}")
    return True


COMMANDS: dict[type[s.Statement], Callable[[Any, Client], bool]] = {
    s.ClientCommand: _client_command,
    s.Set: _set,
    **dict.fromkeys((s.Reset, s.Show, s.DescribeJob, s.StopJob, s.Jar), _of_session),
}
"""Statement -> what answers it; False: it is the environment's after all."""
