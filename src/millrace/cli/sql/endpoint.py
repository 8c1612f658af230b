"""The session of a client at a gateway, from its command line."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from millrace.cli.options import ProgramOptions

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
"""options of the command line that the gateway alone can follow"""


@contextlib.contextmanager
def open_session(endpoint: str, program: ProgramOptions, configuration: Mapping[str, str]) -> Iterator[Remote]:
    """A session as long as the client runs.

    :raises click.ClickException: there is no session, or an option that a client of a gateway can't follow."""
    for field, name in _GATEWAYS.items():
        if getattr(program, field):
            raise click.UsageError(
                f"{name} is for the process that runs the statements: give it to millrace sql-gateway"
            )
    try:
        from millrace.cli.sql.remote import Remote
        from millrace.cluster.sql_client.errors import GatewayClientError
        from millrace.cluster.sql_client.session import RemoteSession
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
        from millrace.cluster.remote.rest_client import known_token
    except ImportError:
        return None  # then neither is installed here
    parts = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
    return known_token(f"{parts.scheme}://{parts.netloc}")
