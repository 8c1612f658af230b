"""A client that is replaced when its connection is lost."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from millrace.connectors.redis.connection import redis_library
from millrace.connectors.redis.places import RedisPlace
from millrace.util.secrets import mask_text

T = TypeVar("T")

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 0.5
"""before the first repetition; each later one waits that much longer"""


class Retrying:
    """
    :param what: uses it, for errors.
    """

    def __init__(self, place: RedisPlace, retries: int, what: str = "Redis") -> None:
        self._place, self._retries, self._what = place, retries, what
        self._client: Any = None

    def run(self, work: Callable[[Any], T]) -> T:
        """What ``work`` does with the client; all of it again if the connection is lost.

        :raises ConnectionError: there is none to be had.
        :raises RuntimeError: the server refuses.
        """
        library = redis_library()
        passing = (library.ConnectionError, library.TimeoutError, library.exceptions.ClusterDownError, OSError)
        for attempt in range(self._retries + 1):
            try:
                if self._client is None:
                    self._client = self._place.connect()
                return work(self._client)
            except library.AuthenticationError as error:
                self.close()
                raise ConnectionError(self._told(error)) from error
            except passing as error:
                self.close()
                if attempt == self._retries:
                    raise ConnectionError(self._told(error)) from error
                logger.warning("%s; trying again", self._told(error))
                time.sleep(PAUSE_SECONDS * (attempt + 1))
            except library.RedisError as error:
                self.close()
                raise RuntimeError(self._told(error)) from error
        raise AssertionError("not reached")

    def _told(self, error: Exception) -> str:
        return f"{self._what} at {self._place}: {mask_text(str(error)) or type(error).__name__}"

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):
                client.close()
