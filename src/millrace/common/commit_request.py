"""``RequestCommitter``: a committer that answers for each committable by itself, and may ask to be called again.

A plain ``Committer`` succeeds or raises. Flink's committers get ``CommitRequest`` objects and tell what became of each;
this base offers the same on top of ``Committer.commit``.
"""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from millrace.common.sink import Committer

__all__ = ["CommitRequest", "RequestCommitter"]

CommT = TypeVar("CommT")

logger = logging.getLogger(__name__)


class CommitRequest(Generic[CommT]):
    """One committable to be committed. Saying nothing means that it is committed."""

    def __init__(self, committable: CommT, number_of_retries: int = 0) -> None:
        self._committable = committable
        self._retries = number_of_retries
        self._again: list[CommitRequest[CommT]] = []

    def get_committable(self) -> CommT:
        return self._committable

    def get_number_of_retries(self) -> int:
        """How often this committable was retried before; 0 for the first time."""
        return self._retries

    def signal_already_committed(self) -> None:
        """It was committed before, which is fine: a commit may be repeated after a failure."""
        logger.info("already committed: %s", self._committable)

    def signal_failed_with_known_reason(self, error: BaseException) -> None:
        """It can never be committed, and that is acceptable: what it holds is **lost**, the job goes on."""
        logger.error("given up, its elements are lost: %s", self._committable, exc_info=error)

    def signal_failed_with_unknown_reason(self, error: BaseException) -> None:
        """It can't be committed: the job fails.

        :raises RuntimeError: always.
        """
        raise RuntimeError(f"failed to commit {self._committable}") from error

    def retry_later(self) -> None:
        """Ask for it again after a while."""
        self.update_and_retry_later(self._committable)

    def update_and_retry_later(self, committable: CommT) -> None:
        """Ask again, with this committable in its place: what is left of it, for example. If the driver dies meanwhile
        the first one comes again."""
        self._again = [CommitRequest(committable, self._retries + 1)]


class RequestCommitter(Committer[CommT]):
    """Implement ``commit_requests``. Retries happen at once, after a pause: no epoch begins until they are through."""

    max_retries = 10
    """after so many, one more request to retry a committable fails the job"""
    retry_delay_ms = 1000

    @abstractmethod
    def commit_requests(self, requests: Sequence[CommitRequest[CommT]]) -> None:
        """Commit them; tell each request if it is not simply committed."""

    def commit(self, committables: Sequence[CommT]) -> None:
        """:raises RuntimeError: a committable is still to be retried after ``max_retries``."""
        requests = [CommitRequest(committable) for committable in committables]
        while requests:
            self.commit_requests(requests)
            requests = [again for request in requests for again in request._again]
            if requests and requests[0]._retries > self.max_retries:
                raise RuntimeError(
                    f"{len(requests)} committables could not be committed in {self.max_retries} retries, first: "
                    f"{requests[0].get_committable()}"
                )
            if requests:
                time.sleep(self.retry_delay_ms / 1000)
