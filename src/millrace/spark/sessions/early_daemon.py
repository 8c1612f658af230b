"""The worker daemon that is begun together with a JVM, as the process that begins it sees it.

What it does while it waits, and how it gets its place, is in ``spark/workers/daemon.py``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

VARIABLE = "MILLRACE_DAEMON_AHEAD"
"""The process that waits, in the environment of the JVM and so of what it starts."""
_DAEMON = "millrace.spark.workers.daemon"


@dataclass(frozen=True)
class Waiting:
    """A daemon that waits."""

    process: subprocess.Popen[bytes]

    @property
    def variables(self) -> dict[str, str]:
        """What the JVM's environment needs, so that it is found."""
        return {VARIABLE: str(self.process.pid)}

    def end(self) -> None:
        """End the daemon: Spark will not ask for it."""
        assert self.process.stdin is not None
        self.process.stdin.close()


def begin(home: str, environment: Mapping[str, str], log_file: str) -> Waiting:
    """Start a daemon that waits. It ends with this process if Spark never asks for it.

    :param home: the folder of the installed PySpark.
    """
    libraries = os.path.join(home, "python", "lib")
    zips = sorted(name for name in os.listdir(libraries) if name.endswith(".zip"))
    own = [os.path.join(libraries, name) for name in zips]
    variables = {
        **environment,
        "PYTHONPATH": os.pathsep.join(filter(None, [*own, environment.get("PYTHONPATH")])),
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": environment.get("OMP_NUM_THREADS", "1"),
    }
    with open(log_file, "ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", _DAEMON, VARIABLE], stdin=subprocess.PIPE, stdout=log, stderr=log, env=variables
        )
    return Waiting(process)
