"""Ids of jobs: the first job of a submitted program has the id that was chosen with the submission."""

from __future__ import annotations

_chosen: str | None = None


def choose(job_id: str | None) -> None:
    """The next job of this process gets this id; None: one of its own."""
    global _chosen
    _chosen = job_id


def next_id(own: str) -> str:
    """The id of a job that is submitted now.

    :param own: its id, if none was chosen.
    """
    global _chosen
    chosen, _chosen = _chosen, None
    return chosen or own
