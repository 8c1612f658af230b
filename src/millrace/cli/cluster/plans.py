"""The plan of an uploaded program: what ``millrace info`` finds in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from millrace.cluster.holder import LaunchError

if TYPE_CHECKING:
    from millrace.cluster.documents.job import JobDocument
    from millrace.cluster.holder import Launch

PLAN_SECONDS = 120.0


def plan_of(launch: Launch, path: str) -> JobDocument:
    """The job that the program would start.

    :raises LaunchError: it would start none.
    """
    from millrace.cluster.documents.codec import decode
    from millrace.cluster.documents.job import JobDocument

    words = [sys.executable, "-m", "millrace", "info", "--document", "--pyflink"]
    if launch.parallelism is not None:
        words += ["-p", str(launch.parallelism)]
    for key, value in launch.configuration.items():
        words += ["-D", f"{key}={value}"]
    words += ["-py", path] if path.endswith(".py") else ["-pyfs", path, "-pym", launch.entry or "main"]
    try:
        done = subprocess.run([*words, "--", *launch.arguments], capture_output=True, timeout=PLAN_SECONDS)
    except subprocess.TimeoutExpired:
        raise LaunchError(f"the program has not executed a job for {PLAN_SECONDS:g} s") from None
    if done.returncode:
        raise LaunchError(done.stderr.decode(errors="replace").strip())
    return decode(done.stdout, JobDocument)
