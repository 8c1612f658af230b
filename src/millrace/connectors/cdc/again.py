"""``again``: a question to a database that is captured, asked once more when the connection was lost."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from millrace.connectors.stores.problems import ConnectionFailed

T = TypeVar("T")
PAUSE_SECONDS = 0.5

logger = logging.getLogger(__name__)


def again(work: Callable[[], T], is_passing: Callable[[BaseException], bool], retries: int, place: str) -> T:
    """After half a second, one, two, ...

    :param work: only reads.
    :param is_passing: whether an error may be over a moment later.
    :param place: of the server, for messages.
    :raises ConnectionFailed: it was tried so often.
    """
    for attempt in range(retries + 1):
        try:
            return work()
        except Exception as error:
            if not is_passing(error) or (attempt == retries and isinstance(error, ConnectionFailed)):
                raise
            if attempt == retries:
                raise ConnectionFailed(f"{place}: the connection is lost: {error}", True) from error
            logger.warning("%s: %s; it is asked again", place, error)
        time.sleep(PAUSE_SECONDS * 2**attempt)
    raise AssertionError("the last try gives its result or its error")
