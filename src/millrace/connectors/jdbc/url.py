"""``jdbc:`` URLs: which kind of database, and where."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Mapping

from millrace.connectors.jdbc.dialects.base import Dialect
from millrace.connectors.jdbc.dialects.duckdb import DuckDbDialect
from millrace.connectors.jdbc.dialects.mysql import MariaDbDialect, MySqlDialect
from millrace.connectors.jdbc.dialects.postgresql import PostgreSqlDialect
from millrace.connectors.jdbc.dialects.sqlite import SqliteDialect
from millrace.connectors.jdbc.dialects.target import CONNECT_SECONDS, Target
from millrace.util.secrets import mask_text

_KINDS: Mapping[str, tuple[Dialect, int]] = {
    "postgresql": (PostgreSqlDialect(), 5432),
    "mysql": (MySqlDialect(), 3306),
    "mariadb": (MariaDbDialect(), 3306),
    "sqlite": (SqliteDialect(), 0),
    "duckdb": (DuckDbDialect(), 0),
}
_FILES = ("sqlite", "duckdb")
"""databases that are a file"""
_KNOWN = ", ".join(f"jdbc:{kind}:" for kind in _KINDS)


def parse(
    url: str,
    user: str | None = None,
    password: str | None = None,
    properties: Mapping[str, str] | None = None,
    timeout: float = CONNECT_SECONDS,
) -> tuple[Dialect, Target]:
    """The dialect and the place that a URL names. User and password beside it go before those in it.

    :raises ValueError: it is no such URL, or of a database that Millrace has no driver for.
    """
    match = re.match(r"jdbc:([a-z0-9]+):(.*)$", url, re.IGNORECASE | re.DOTALL)
    if match is None:
        raise ValueError(f"'{mask_text(url)}' is no JDBC URL: it begins with one of {_KNOWN}")
    kind, rest = match[1].lower(), match[2]
    if kind not in _KINDS:
        raise ValueError(f"'jdbc:{kind}:' is a database that Millrace has no driver for; it has {_KNOWN}")
    dialect, port = _KINDS[kind]
    given = dict(properties or {})
    if kind in _FILES:
        return dialect, Target((), rest, properties=given, timeout=timeout)
    rest, _, query = rest.partition("?")
    found = {**dict(urllib.parse.parse_qsl(query, keep_blank_values=True)), **given}
    hosts, database = _hosts(url, rest, port)
    return dialect, Target(
        hosts,
        database,
        user if user is not None else found.pop("user", None),
        password if password is not None else found.pop("password", None),
        {name: value for name, value in found.items() if name not in ("user", "password")},
        timeout,
    )


def is_known(url: str) -> bool:
    """Whether a URL is of a database that Millrace has a driver for."""
    return url.lower().startswith(tuple(f"jdbc:{kind}:" for kind in _KINDS))


def with_database(url: str, database: str) -> str:
    """The URL of a database at the place of another one. :param url: may end with the slash before the database."""
    if url.lower().startswith(tuple(f"jdbc:{kind}:" for kind in _FILES)):
        return url
    before, mark, query = url.partition("?")
    head, slashes, rest = before.partition("//")
    hosts = rest.partition("/")[0]
    return f"{head}{slashes}{hosts}/{urllib.parse.quote(database, safe='')}{mark}{query}"


def _hosts(url: str, rest: str, port: int) -> tuple[tuple[tuple[str, int], ...], str]:
    if not rest.startswith("//"):
        raise ValueError(f"'{mask_text(url)}' names no host: jdbc:kind://host:port/database")
    hosts, _, database = rest[2:].partition("/")
    if "@" in hosts:
        raise ValueError("user and password are options of their own ('username', 'password'), not before the host")
    return tuple(_host(each, port) for each in hosts.split(",")), urllib.parse.unquote(database)


def _host(text: str, port: int) -> tuple[str, int]:
    match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]*)(?::(\d+))?", text)
    if match is None:
        raise ValueError(f"'{mask_text(text)}' is no host with a port")
    return match[1].strip("[]") or "localhost", int(match[2] or port)
