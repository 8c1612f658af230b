"""One Spark for several processes: its owner opens a gateway for each, and a process attaches to its own.

A gateway is Spark's own ``Py4JServer`` in the owner's JVM, so every process has its connections, its threads and its
secret for itself. When a process has ended, however it did, the owner lets go of its gateway and of what still runs for
its jobs.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from millrace.spark.owners import pipe
from millrace.spark.owners.rows import SCHEMA, SPARK_SCHEMA
from millrace.spark.sessions import session as sessions
from millrace.spark.sessions.logs import quiet_about_lost_jvm

_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
CANCEL_SECONDS = 10.0
POOL = "spark.scheduler.pool"


@dataclass(frozen=True)
class Gateway:
    """Where a process reaches the shared Spark."""

    port: int
    secret: str = field(repr=False)
    log_file: str | None = None
    """where the JVM logs to"""


class OpenGateway:
    """The owner's side of one process.

    :param session: the owner's session.
    """

    def __init__(self, session: SparkSession) -> None:
        self._context = session.sparkContext
        python = self._context._jvm.org.apache.spark.api.python
        self._server = python.Py4JServer(self._context._jvm.org.apache.spark.SparkConf())
        self._server.start()
        self.gateway = Gateway(
            self._server.getListeningPort(),
            self._server.secret(),
            sessions.log_file_of(self._context),
        )

    def close(self, jobs: Iterable[str]) -> None:
        """The process has ended: end what runs for its jobs, so that its successor finds nothing of them.

        Waits until the owners of the jobs have closed.
        """
        with contextlib.suppress(Exception):
            self._server.shutdown()  # first: nothing more begins
        for job in jobs:
            with contextlib.suppress(Exception):
                self._cancel(job)
            with contextlib.suppress(Exception):
                pipe.forget(job)

    def _cancel(self, job: str) -> None:
        """Let what runs for a job end; not what its next driver begins, whose group is the same."""
        until = time.monotonic() + CANCEL_SECONDS
        while True:
            self._context.cancelJobGroup(job)
            if not self._is_active(job) or time.monotonic() > until:
                return
            time.sleep(0.05)

    def _is_active(self, job: str) -> bool:
        tracker = self._context.statusTracker()
        infos = [tracker.getJobInfo(id) for id in tracker.getJobIdsForGroup(job)]
        return any(info is not None and info.status == "RUNNING" for info in infos)


def attach(gateway: Gateway) -> SparkSession:
    """Make the shared Spark that of this process, for whatever asks for a session from now on.

    What the process stops is its own session, not the Spark of the others. Raises an error of Py4J if nothing answers.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # what workers run; Spark would take any python3
    os.environ[_PORT], os.environ[_SECRET] = str(gateway.port), gateway.secret
    try:
        connection = launch_gateway()
    finally:
        del os.environ[_PORT], os.environ[_SECRET]
    jvm = connection.jvm
    SparkContext._gateway, SparkContext._jvm = connection, jvm
    java_context = jvm.JavaSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate())
    conf = SparkConf(_jvm=jvm, _jconf=java_context.getConf())
    with sessions.own_interrupt_handler():
        context = SparkContext(gateway=connection, jsc=java_context, conf=conf)
    quiet_about_lost_jvm(context._accumulatorServer)
    _never_stops(context)
    session = SparkSession(context).newSession()
    SparkSession._instantiatedSession = session
    sessions.use_shared(session, gateway.log_file)
    return session


def detach() -> None:
    """Forget a shared Spark that is gone: this process may attach to another one."""
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    sessions.use_shared(None, None)


def warm_up(session: SparkSession) -> None:
    """Do once what the first job would wait for: Spark runs a plan of the shape of a job, and so has its classes; the
    executors start Python with all that tasks need."""
    width = max(session.sparkContext.defaultParallelism, 1)
    rows = sessions.workplace(session, sessions.SessionWishes(width)).session.range(0, width, 1, width)
    sent = rows.mapInArrow(_prepared, SPARK_SCHEMA).repartitionById(width, "target")
    sent.mapInArrow(_passed, SPARK_SCHEMA).select("edge", "payload").collect()


def _prepared(_: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    pipe.prepare()
    packet = {"target": 0, "edge": 0, "channel": 0, "number": 0, "payload": b"", "run": 0}
    yield pa.RecordBatch.from_pylist([packet], SCHEMA)


def _passed(packets: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from packets


def run_in_pool(context: SparkContext, pool: str) -> None:
    """What this thread runs from now on gets its share of the shared Spark beside other pools."""
    context.setLocalProperty(POOL, pool)


def _never_stops(context: SparkContext) -> None:
    """Programs that stop their session, as many do at their end, would end the jobs of all others."""
    anything: Any = context
    anything.stop = _leave
    session_class: Any = pyspark.sql.SparkSession
    session_class.stop = _leave


def _leave(*_: object) -> None:
    """The session ends with its process."""
