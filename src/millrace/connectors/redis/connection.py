"""The client of Redis."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from millrace.util.secrets import mask_text

_MISSING = "redis can't be imported, which the Redis connector needs: pip install 'millrace-streaming[redis]' ({})"
_SECONDS = 30


def redis_library() -> Any:
    """:raises ImportError: it is not installed."""
    try:
        import redis as found
    except ImportError as error:
        raise ImportError(_MISSING.format(error)) from error
    return found


@dataclass(frozen=True)
class RedisServer:
    """
    :ivar url: ``redis://host:port/database``, ``rediss://`` with TLS; may hold user and password.
    """

    url: str = field(repr=False)

    transactions = True

    def __post_init__(self) -> None:
        """:raises ValueError: the URL is none of Redis."""
        if urlsplit(self.url).scheme not in ("redis", "rediss", "unix"):
            raise ValueError(f"a Redis server is redis://host:port, rediss:// or unix://, not {self}")

    def connect(self) -> Any:
        """A client that gives bytes. Waits 30 seconds for an answer."""
        return redis_library().Redis.from_url(self.url, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS)

    def telling(self) -> AbstractContextManager[None]:
        """As ``telling``, of this server."""
        return telling(str(self))

    def __str__(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


@contextmanager
def telling(where: str) -> Iterator[None]:
    """What goes wrong with the connection is said with the server's address.

    :raises ConnectionError: the server does not answer, or does not let us in.
    """
    library = redis_library()
    try:
        yield
    except (library.ConnectionError, library.TimeoutError, OSError) as error:
        raise ConnectionError(f"Redis at {where}: {mask_text(str(error)) or type(error).__name__}") from None
