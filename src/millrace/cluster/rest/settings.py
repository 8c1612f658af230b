"""The settings of a REST server, made from options: where it listens, who may call it.

Unsafe settings are refused, such as a server for other machines without a token.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from millrace.common.configuration import to_duration
from millrace.configuration import own_options as own

PAGES = Path(__file__).parents[1] / "dashboard" / "static"
"""where the dashboard lies in the package"""

STRICT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the dashboard: only files of this server, no inline code"""


@dataclass(frozen=True)
class RestSettings:
    """Settings of one server. The names in quotes are Flink's options."""

    token: str | None = None
    """token that clients send to change anything; None: not needed (``security.rest.auth=none``)"""
    hosts: frozenset[str] = frozenset()
    """host names under which the server may be called, besides those of the loopback"""
    beyond_loopback: bool = False
    """whether other machines can reach the server: numeric addresses count as its names then"""
    protect_reads: bool = False
    """whether reading needs the token, too"""
    history: bool = False
    """whether the server answers as Flink's history server"""
    cancel: bool = True
    """``web.cancel.enable``"""
    yarn_cancel: bool = False
    """whether ``GET /jobs/:id/yarn-cancel`` cancels: a link that changes something"""
    refresh_interval: int = 3000
    """``web.refresh-interval`` in ms"""
    exceptions: int = 20
    """number of exceptions that are shown if the client names none"""
    max_upload: int = 104_857_600
    """``rest.server.max-content-length``: largest size of an uploaded program (bytes)"""
    max_body: int = 1_048_576
    """largest size of any other request (bytes)"""
    operations: int = 1000
    """number of asynchronous operations that are remembered"""
    operation_seconds: float = 300.0
    """``rest.async.store-duration``: how long a completed operation is remembered (s)"""
    pages: Path = PAGES
    """folder with the dashboard's files"""
    sql: str | None = None
    """path, without slashes around it, under which the SQL gateway's REST API is served, too; None: it is not"""
    policy: str = STRICT_POLICY
    """Content-Security-Policy of the pages"""


# From options to settings

PORTS = range(8081, 8100)
"""default ports of the server: it listens on the first free one"""
HISTORY_PORTS = range(8082, 8101)

ALLOWED_HOSTS = own.ALLOWED_HOSTS.key
CERTIFICATE = own.CERTIFICATE.key
KEY = own.PRIVATE_KEY.key
PROTECT_READS = own.PROTECT_READS.key
YARN_CANCEL = own.YARN_CANCEL.key


class UnsafeServerError(ValueError):
    """The options would open the server to others; the text says what to do instead."""


@dataclass(frozen=True)
class Binding:
    """Where a server listens."""

    address: str = "127.0.0.1"
    ports: Sequence[int] = PORTS
    """ports to try; the server listens on the first free one"""
    certificate: str | None = None
    """file with the certificates, in PEM; None: no TLS"""
    key: str | None = None
    """file with its private key, in PEM"""


def is_loopback(address: str) -> bool:
    """Whether an address can be reached from this machine only."""
    if address.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def binding(options: Mapping[str, str], default_ports: Sequence[int] = PORTS) -> Binding:
    """The address and ports that the options name: ``rest.bind-address``, ``rest.bind-port`` or ``rest.port``."""
    ports = options.get("rest.bind-port") or options.get("rest.port")
    certificate, key = options.get(CERTIFICATE), options.get(KEY)
    if (certificate is None) != (key is None):
        raise ValueError(f"{CERTIFICATE} and {KEY} belong together: one of them is missing.")
    address = options.get("rest.bind-address", Binding.address)
    return Binding(address, parse_ports(ports) if ports else default_ports, certificate, key)


def parse_ports(text: str) -> list[int]:
    """Parse ports: ``8081``, ``8081-8090``, ``8081,9000-9010``; 0 is any free port."""
    ports: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()) or ("-" in part and not last):
            raise ValueError(f"{text!r} is no port, and no range of ports such as 8081-8090.")
        begin, end = int(first), int(last or first)
        if not 0 <= begin <= end <= 65_535:
            raise ValueError(f"{text!r}: ports go from 0 to 65535.")
        ports += range(begin, end + 1)
    return ports


def asks_for_token(options: Mapping[str, str]) -> bool:
    """Whether callers have to show a token, as far as the options say."""
    return own.AUTH.read(options).lower() != "none"


def rest_settings(options: Mapping[str, str], token: str | None, where: Binding, history: bool = False) -> RestSettings:
    """Make the settings of a server from options.

    :param token: token that clients must send; ignored with ``security.rest.auth=none``.
    :raises UnsafeServerError: others could reach the server without a token.
    """
    beyond = not is_loopback(where.address)
    if not asks_for_token(options):
        token = None
    if beyond and token is None:
        raise UnsafeServerError(
            f"A server that listens on {where.address} is reached by others, so it needs a token: leave "
            "security.rest.auth at 'token', or let it listen on 127.0.0.1."
        )
    names = [each.strip() for each in re.split("[,;]", options.get(ALLOWED_HOSTS, "")) if each.strip()]
    if options.get("rest.address"):
        names.append(options["rest.address"])
    if beyond:
        names += [socket.gethostname(), where.address]
    return RestSettings(
        token=token,
        hosts=frozenset(names),
        beyond_loopback=beyond,
        protect_reads=token is not None and _truth(options, PROTECT_READS, beyond),
        history=history,
        cancel=_truth(options, "web.cancel.enable", True),
        yarn_cancel=_truth(options, YARN_CANCEL, False),
        refresh_interval=_millis(options, "web.refresh-interval", 10_000 if history else 3000),
        operation_seconds=_millis(options, "rest.async.store-duration", 300_000) / 1000,
        max_upload=_number(options, "rest.server.max-content-length", RestSettings.max_upload),
    )


def _truth(options: Mapping[str, str], key: str, default: bool) -> bool:
    text = options.get(key, str(default)).strip().lower()
    if text not in ("true", "false"):
        raise ValueError(f"{key} is true or false, not {text!r}.")
    return text == "true"


def _millis(options: Mapping[str, str], key: str, default: int) -> int:
    return to_duration(options[key]).to_millis() if key in options else default


def _number(options: Mapping[str, str], key: str, default: int) -> int:
    text = options.get(key, str(default)).strip()
    if not text.isdecimal():
        raise ValueError(f"{key} is a whole number, not {options[key]!r}.")
    return int(text)
