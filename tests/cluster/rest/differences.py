"""What the API answers otherwise than Flink, in front of samples.

The samples stand for jobs, so what differs because they are only samples is set apart here. The machinery is the one
that compares a real server (``tests.flink.rest.ours``).
"""

from __future__ import annotations

from pathlib import Path

from tests.cluster.rest.flink_jobs import FlinkJobs, FlinkPrograms
from tests.cluster.rest.samples import OVER, SampleHolder
from tests.flink.rest import send, world
from tests.flink.rest.ask import HISTORY, REST
from tests.flink.rest.compare import compare
from tests.flink.rest.differences import Difference
from tests.flink.rest.known import Known, explained
from tests.flink.rest.world import World

from millrace.cluster.history import HistoryHolder, write_archive
from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.serving import RestServer
from millrace.cluster.rest.settings import Binding, RestSettings

OF_SAMPLES = (
    Known("samples have one shape of a graph", "*", "body*/ship_strategy"),
    Known("samples have one shape of a graph", "* batch job*", "body/stream-graph*"),
    Known("samples are under back pressure", "*/backpressure*", "body*level"),
    Known("samples are under back pressure", "*/backpressure*", "body*Level"),
    Known("any entry of a sample can be run", "* POST /jars/{jarid}/run an unknown field*"),
    Known("what checkpoints a short job has had is chance", "* a f*ed job*", "body/summary/*"),
    Known("what checkpoints a short job has had is chance", "* a f*ed job*", "body/latest/*"),
    Known("what checkpoints a short job has had is chance", "* a f*ed job*", "body/history*"),
    Known("what checkpoints a short job has had is chance", "*/checkpoints/details/*", "status", "400"),
    Known("what checkpoints a short job has had is chance", "* a restarting job*", "body/history"),
    Known("what checkpoints a short job has had is chance", "* a restarting job*", "body/latest/failed"),
    Known("samples have one restart strategy", "*/config a restarting job", "body/execution-config/restart-strategy"),
    Known("samples take savepoints to any place", "*savepoint_no_scheme*"),
    Known("samples restore from any place", "* POST /jars/{jarid}/run no such savepoint*"),
    Known("any entry of a sample can be run", "* no such entry*"),
    Known("samples are cancelled at once", "*cancelled", "body/state"),
    Known("samples are cancelled at once", "*cancelled", "body/*end-time"),
    Known("samples are cancelled at once", "*cancelled", "body/vertices/[]/status"),
    Known("samples that are stopped show their savepoint at once", "*stopped", "body/history*"),
    Known("samples that are stopped show their savepoint at once", "*stopped", "body/latest/savepoint"),
    Known("a sample that waits has checkpoints", "*/checkpoints/config a job that waits for slots"),
    Known("the sample of a log prints something", "*/stdout*", "body"),
    Known("the folder of the samples' logs has no folders", "*/logs/{name} a folder"),
)


def real(found: list[Difference]) -> list[Difference]:
    """Those that are none of the samples'."""
    return explained(found, OF_SAMPLES)[1]


def compared(folder: Path) -> list[Difference]:
    """All differences, of the REST API and of the history server."""
    # Samples never change by themselves: what is not there at once will never be.
    send.UNTIL_SECONDS, world.SECONDS = 0, 5
    holder, none = SampleHolder(), folder / "none"
    (folder / "savepoints").mkdir(parents=True)
    jobs = FlinkJobs(holder, folder / "savepoints")
    settings = RestSettings(yarn_cancel=True, pages=none)
    server = RestServer(make_app(holder, FlinkPrograms(folder / "programs", jobs), settings), Binding(ports=[0]))
    server.start()
    try:
        base = server.address.replace("localhost", "127.0.0.1")
        asked = World(base, jobs)
        found = compare({REST: base}, asked)
        for name in ("finished", "failed", "canceled", "batch"):
            asked.value(name)
        return real([*found, *_history(folder, holder, asked)])
    finally:
        server.stop()


def _history(folder: Path, holder: SampleHolder, asked: World) -> list[Difference]:
    archives = str(folder / "archives")
    for job in holder.jobs():
        if job.state in OVER:
            write_archive(archives, job)
    settings = RestSettings(history=True, refresh_interval=10_000, pages=folder / "none")
    server = RestServer(make_app(HistoryHolder([archives]), None, settings), Binding(ports=[0]))
    server.start()
    try:
        return compare({HISTORY: server.address.replace("localhost", "127.0.0.1")}, asked)
    finally:
        server.stop()
