"""What Flink was asked (``tests/flink/rest``), asked of the API in front of samples: all differences have their reason.

The samples stand for jobs, so what differs because they are only samples is set apart here. The machinery is the one
that compares a real server.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster_rest.flink_jobs import FlinkJobs, FlinkPrograms
from tests.cluster_rest.samples import SampleHolder
from tests.flink.rest import send, world
from tests.flink.rest.ask import HISTORY, REST
from tests.flink.rest.asks import all_asks
from tests.flink.rest.compare import compare
from tests.flink.rest.differences import Difference
from tests.flink.rest.known import Known, explained
from tests.flink.rest.world import World

from millrace.cluster.history.archives import write_archive
from millrace.cluster.history.holder import HistoryHolder
from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.options import Binding
from millrace.cluster.rest.serving import RestServer
from millrace.cluster.rest.web.settings import RestSettings

OF_SAMPLES = (
    Known("samples have one shape of a graph", "*", "body*/ship_strategy"),
    Known("samples have one shape of a graph", "* batch job*", "body/stream-graph*"),
    Known("samples are under back pressure", "*/backpressure*", "body*level"),
    Known("samples are under back pressure", "*/backpressure*", "body*Level"),
    Known("any entry of a sample can be run", "* POST /jars/{jarid}/run an unknown field*"),
    Known("a failed sample has had no checkpoint", "* failed job*", "body/summary/*", "=NaN"),
    Known("a failed sample has had no checkpoint", "* failed job*", "body/latest/completed"),
    Known("a failed or restarting sample has had no checkpoint", "*/checkpoints/details/*", "status", "400"),
    Known("a restarting sample has had no checkpoint", "* a restarting job*", "body/history"),
    Known("a restarting sample has had no checkpoint", "* a restarting job*", "body/latest/failed"),
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


@pytest.fixture(autouse=True)
def _samples_never_change_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not there at once will never be."""
    monkeypatch.setattr(send, "UNTIL_SECONDS", 0.2)
    monkeypatch.setattr(world, "SECONDS", 5)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, World]]:
    holder = SampleHolder()
    (tmp_path / "savepoints").mkdir()
    jobs = FlinkJobs(holder, tmp_path / "savepoints")
    settings = RestSettings(yarn_cancel=True, pages=tmp_path / "none")
    app = make_app(holder, FlinkPrograms(tmp_path / "programs", jobs), settings)
    server = RestServer(app, Binding(ports=[0]))
    server.start()
    base = server.address.replace("localhost", "127.0.0.1")
    yield base, World(base, jobs)
    server.stop()


def said_less(difference: Difference) -> bool:
    """Texts that are cut off are compared as far as they go."""
    ours = difference.ours
    return difference.place == "body/errors" and ours.endswith("..']") and difference.flink.startswith(ours[:-4])


def check(found: list[Difference]) -> None:
    _, others = explained([each for each in found if not said_less(each)])
    _, others = explained(others, OF_SAMPLES)
    assert not others, "\n".join(map(str, others))


def test_answers_are_those_of_flink(served: tuple[str, World]) -> None:
    base, world = served
    found = compare({REST: base}, world)
    assert len({each.asked for each in found}) < len(all_asks(REST)) / 4, "most answers are the same in all"
    check(found)


def test_answers_about_history_are_those_of_flink(served: tuple[str, World], tmp_path: Path) -> None:
    _, world = served
    for name in ("finished", "failed", "canceled", "batch"):
        world.value(name)
    for job in world.jobs.holder.jobs():
        write_archive(str(tmp_path / "archives"), job)
    settings = RestSettings(history=True, refresh_interval=10_000, pages=tmp_path / "none")
    server = RestServer(make_app(HistoryHolder([str(tmp_path / "archives")]), None, settings), Binding(ports=[0]))
    server.start()
    try:
        found = compare({HISTORY: server.address.replace("localhost", "127.0.0.1")}, world)
    finally:
        server.stop()
    check(found)
