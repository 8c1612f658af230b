"""Where a server of a search index is, and who asks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from millrace.connectors.search.dialect import Dialect

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 60.0


@dataclass(frozen=True)
class Place:
    """
    :ivar hosts: URLs; each request goes to one that answers.
    :ivar prefix: of all paths.
    :ivar insecure: whether certificates count for nothing.
    :ivar fingerprint: SHA-256 of a certificate that is trusted if the server shows it, in hexadecimal digits.
    :ivar authorities: a file with the certificates of those that sign servers' ones.
    """

    dialect: Dialect
    hosts: tuple[str, ...]
    prefix: str = ""
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    bearer_token: str | None = field(default=None, repr=False)
    insecure: bool = False
    fingerprint: str | None = None
    authorities: str | None = None
    connect_seconds: float = CONNECT_SECONDS
    answer_seconds: float = ANSWER_SECONDS
    pool_seconds: float = CONNECT_SECONDS

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.dialect.title} at {', '.join(self.hosts)}"

    def problem(self) -> str | None:
        """What cannot be; None if all can."""
        if (self.username is None) != (self.password is None):
            return "'username' and 'password' belong together"
        given = [each for each in (self.username, self.api_key, self.bearer_token) if each is not None]
        if len(given) > 1:
            return "of a password, an API key and a token there can be one"
        return None


def hosts_of(given: str | Iterable[str]) -> tuple[str, ...]:
    """URLs of hosts.

    :param given: URLs, or host:port, several of them between semicolons or as a list.
    :raises ValueError: one is none.
    """
    texts = given.split(";") if isinstance(given, str) else list(given)
    found = tuple(dict.fromkeys(_host(text.strip()) for text in texts if text.strip()))
    if not found:
        raise ValueError("there is no host")
    return found


def _host(text: str) -> str:
    url = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"'{text}' is no host: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"a host is written http://name:9200 or https://name:9200, not '{text}'")
    if parts.username or parts.password:
        raise ValueError(f"user and password do not belong into the URL of {parts.hostname}: they have options")
    if parts.path not in ("", "/") or parts.query:
        raise ValueError(f"'{text}' has a path: that has an option of its own, the prefix of all paths")
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{name}:{port or 9200}"
