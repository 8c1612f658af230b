"""Settings of Spark that let tasks leave the executor that has their state. Only a new SparkContext takes them."""

from __future__ import annotations

from collections.abc import Callable

REDUCE_LOCALITY = "spark.shuffle.reduceLocality.enabled"
WAIT = "spark.locality.wait"
WAIT_PROCESS = "spark.locality.wait.process"


def warning_about(setting: Callable[[str], str | None], exchanges: bool) -> str | None:
    """What is to be said about a cluster's settings, if anything.

    :param setting: gives the value of a setting; None: it is not set.
    :param exchanges: whether a job has tasks that read what others have sent.
    """
    found = []
    if exchanges and (setting(REDUCE_LOCALITY) or "true").strip().lower() == "true":
        found.append((f"{REDUCE_LOCALITY} is true", f"{REDUCE_LOCALITY}=false"))
    for name in (WAIT_PROCESS, WAIT):
        value = setting(name)
        if value is not None:
            if _is_nothing(value):
                found.append((f"{name} is {value}", f"{name}=3s"))
            break  # the first one that is set counts
    if not found:
        return None
    facts, remedies = (" and ".join(texts) for texts in zip(*found))
    return (
        f"{facts}, so tasks may leave the executor that has their state, and read it from files elsewhere (metric "
        f"numTaskMoves): begin the Spark application with {remedies}, or let Millrace begin it (millrace.master)"
    )


def _is_nothing(duration: str) -> bool:
    return duration.strip().lower().rstrip("abcdefghijklmnopqrstuvwxyz ") in ("0", "")
