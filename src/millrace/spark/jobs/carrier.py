"""What carries an epoch to the tasks of a job, and brings their acknowledgements back."""

from __future__ import annotations

from typing import Protocol

from millrace.runtime.protocol.epoch import EpochPlan, TaskAck


class Carrier(Protocol):
    """One job's, from its first epoch to its last; used by one thread but for what is said to be for others."""

    def prepared(self, plan: EpochPlan) -> EpochPlan:
        """The plan of the next epoch as its tasks get it."""

    def run(self, text: str, epoch: int) -> list[TaskAck]:
        """Run all tasks for an epoch.

        :param text: what ``Orders`` has published for it.
        """

    def waits_for(self) -> str:
        """What the epoch waits for that runs, in words; from another thread."""

    def finish(self) -> None:
        """Let the epoch that runs end soon, from another thread, if the carrier has a way of its own to say so."""

    def break_off(self) -> None:
        """Let ``run`` raise, from another thread."""

    def cancel(self) -> None:
        """Break the epoch off that runs, from another thread; no other one will run."""

    def end(self) -> None:
        """The job is over."""
