"""What libpq is told, and what of the options of Java's driver that is."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping

from millrace.connectors.jdbc.dialects.target import Target

_RENAMED: Mapping[str, str] = {"ApplicationName": "application_name", "connectTimeout": "connect_timeout"}
_KNOWN = frozenset(
    [
        "application_name",
        "channel_binding",
        "connect_timeout",
        "gssencmode",
        "keepalives_idle",
        "sslcert",
        "sslkey",
        "sslmode",
        "sslrootcert",
        "target_session_attrs",
        "tcp_user_timeout",
    ]
)
_WITHOUT_EFFECT = frozenset(
    [
        "binaryTransfer",
        "defaultRowFetchSize",
        "loginTimeout",
        "prepareThreshold",
        "reWriteBatchedInserts",
        "stringtype",
        "tcpKeepAlive",
    ]
)
"""of Java's driver: they make it faster, or are as they are here anyway"""


def arguments(target: Target) -> dict[str, str]:
    """:raises ValueError: a property that libpq does not have."""
    found = {
        "host": ",".join(host for host, _ in target.hosts),
        "port": ",".join(str(port) for _, port in target.hosts),
        "dbname": target.database,
        "connect_timeout": str(max(2, int(target.timeout))),
        "tcp_user_timeout": str(int(target.timeout * 1000)),
        "options": "-c TimeZone=UTC -c DateStyle=ISO -c IntervalStyle=postgres",
    }
    if target.user is not None:
        found["user"] = target.user
    if target.password is not None:
        found["password"] = target.password
    for name, value in target.properties.items():
        if name == "currentSchema":
            found["options"] += f" -c search_path={value}"
        elif name == "options":
            found["options"] += f" {value}"
        elif name == "ssl":
            if value.lower() != "false":
                found.setdefault("sslmode", "verify-full")  # what that driver does
        elif (known := _RENAMED.get(name, name)) in _KNOWN:
            found[known] = value
        elif name not in _WITHOUT_EFFECT:
            raise ValueError(f"'{name}' is no property of a connection to PostgreSQL here")
    return found


def uri(target: Target) -> str:
    """The same as one text."""
    given = {name: value for name, value in arguments(target).items() if name not in ("host", "port", "dbname")}
    hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in target.hosts)
    query = urllib.parse.urlencode(given, quote_via=urllib.parse.quote)
    return f"postgresql://{hosts}/{urllib.parse.quote(target.database, safe='')}?{query}"
