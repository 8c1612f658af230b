"""Where the statements of a client run: in this process, or at a gateway."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from millrace.cluster.sql.completion import Candidate
from millrace.table import TableResult
from millrace.table.sql import statements as s


class Words(Protocol):
    """Knows what may stand at the cursor."""

    def of(self, before: str, after: str = "") -> Iterable[Candidate]:
        """What may take the place of the word that has been begun."""


class Executor(Protocol):
    """Runs statements, one at a time, and knows their settings and jobs."""

    @property
    def zone(self) -> str:
        """The time zone of TIMESTAMP_LTZ."""

    @property
    def streaming(self) -> bool:
        """Whether queries give changes."""

    def settings(self) -> dict[str, str]:
        """All that is set."""

    def answer(self, statement: s.Statement, defaults: Mapping[str, str]) -> TableResult | None:
        """What a statement about settings and jobs gives; None: it is another one.

        :param defaults: what SET shows of options that are not set.
        """

    def perform(self, statement: s.Statement) -> TableResult:
        """Run any other statement.

        :raises KeyboardInterrupt: Ctrl-C; what it had begun is taken back.
        """

    def wait(self, result: TableResult) -> None:
        """Wait for the end of the job of an INSERT."""

    def words(self) -> Words:
        """For completion."""

    def reason(self, error: BaseException, verbose: bool) -> str:
        """Why a statement failed, in the words that help its author."""

    def failures(self) -> Iterable[tuple[str, BaseException]]:
        """Jobs of INSERTs that have failed since the last time, and why."""

    def running(self) -> list[str]:
        """Jobs of INSERTs that would end with the client."""

    def wait_for_jobs(self) -> None:
        """Wait for the jobs that would end with the client."""
