"""The way of a process to the engine of a cluster: a Spark that it shares with others, for as long as it lives."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

from millrace.cluster.places import sockets
from millrace.cluster.places.descriptions import describe_engine
from millrace.cluster.processes.engine import CLOSE_SECONDS
from millrace.cluster.wire.asking import NotThereError, connect, converse

ENGINE_SECONDS = 180.0
"""How long a program waits for the engine of its cluster, which may just be starting."""


def attach_to_engine(cluster: str, holder: str) -> Callable[[str], None]:
    """Use the engine of the cluster for life; what is to be told of each job is returned.

    :param cluster: its folder.
    :param holder: what this process goes by, and an earlier one whose work it goes on with.
    :raises NotThereError: it is not there, and does not come.
    """
    from millrace.spark.sharing.gateways import Gateway, attach, run_in_pool

    lease = _engine(cluster)
    # What ran for an earlier driver of the program must have ended.
    converse(lease, "the engine", {"call": "released", "holder": holder}, CLOSE_SECONDS + 10)
    found = converse(lease, "the engine", {"call": "attach", "holder": holder}, ENGINE_SECONDS)
    session = attach(Gateway(found["port"], found["secret"], found["log_file"]))
    context = session.sparkContext
    lock = threading.Lock()

    def announce(job: str) -> None:
        run_in_pool(context, job)
        with lock:
            converse(lease, "the engine", {"call": "job", "job": job}, ENGINE_SECONDS)

    return announce


def _engine(cluster: str) -> socket.socket:
    path = sockets.socket_path(cluster, sockets.ENGINE)
    until = time.monotonic() + ENGINE_SECONDS
    while True:
        try:
            if describe_engine(cluster) is not None:
                return connect(path, "the engine")
        except NotThereError:
            pass
        if time.monotonic() > until:
            raise NotThereError(f"the engine of the cluster has not been ready for {ENGINE_SECONDS:g} s: see its log")
        time.sleep(0.1)
