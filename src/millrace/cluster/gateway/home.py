"""Where the work of a gateway is done: INSERTs in a cluster, if there is one, queries on its Spark."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from millrace.spark.sessions.active import spark_context

if TYPE_CHECKING:
    from millrace.cluster.remote.handing_over import Cluster

Find = Callable[[Mapping[str, str]], "Cluster | None"]
"""The cluster that takes the jobs of a session with these settings; None: this process runs them."""


def nowhere(settings: Mapping[str, str]) -> Cluster | None:
    """This process does it all."""
    return None


class Home:
    """The cluster, and the Spark that this process shares with it once a query needs one.

    :param find: called for each job.
    """

    def __init__(self, find: Find = nowhere) -> None:
        self.cluster = find
        self._lock = threading.Lock()
        self._announce: Callable[[str], None] | None = None

    def share(self, settings: Mapping[str, str]) -> None:
        """Use the engine of the cluster, if this process has no Spark yet, and a new one if that is gone.

        :raises NotThereError: there is a cluster, and its engine does not come.
        :raises NoClusterError: the one that the settings ask for is not there.
        """
        cluster = self.cluster(settings)
        with self._lock:
            if self._announce is not None and not _answers():
                from millrace.spark.sharing.gateways import detach

                self._announce = None
                detach()
            if cluster is not None and spark_context() is None:
                from millrace.cluster.processes.attaching import attach_to_engine

                self._announce = attach_to_engine(cluster.folder, f"sql-gateway-{os.getpid()}")

    def announce(self, job: str) -> None:
        """Let the engine know of a job that is about to run on it, on the thread that drives it."""
        if self._announce is not None:
            self._announce(job)


def _answers() -> bool:
    from millrace.spark.errors import jvm_answers

    context = spark_context()
    return context is not None and jvm_answers(context)
