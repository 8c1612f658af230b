"""Flink's own web pages in front of our REST API: they show our jobs, and nothing fails.

Runs where the comparison environment is installed: ``make flink``, or the variable FLINK_VENV.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.cluster.dashboard.browser import chromium
from tests.cluster.rest.flink_jobs import FlinkJobs, FlinkPrograms
from tests.cluster.rest.samples import SampleHolder
from tests.flink.rest.pages.files import VENV, distribution, unpack
from tests.flink.rest.pages.walk import CLUSTER, OF_JOB, OF_VERTEX, OF_WORKER, POLICY, Walk, walking
from tests.services import missing

from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.serving import RestServer
from millrace.cluster.rest.settings import Binding, RestSettings
from millrace.testing.services import ServiceUnavailable

JAR = distribution()
pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(JAR is None, reason=f"{VENV} names no environment with apache-flink: `make flink` makes one"),
]
ENDED = ("finished", "failed", "batch")


class Shown:
    """A server with Flink's pages, and one job in each state."""

    def __init__(self, folder: Path) -> None:
        assert JAR is not None
        self.holder = SampleHolder()
        jobs = FlinkJobs(self.holder, folder)
        names = ("running", "plain", "waiting", "restarting", *ENDED)
        self.ids = {name: jobs.submit(name) for name in names}
        settings = RestSettings(pages=unpack(JAR, folder), policy=POLICY)
        programs = FlinkPrograms(folder / "programs", jobs)
        self.server = RestServer(make_app(self.holder, programs, settings), Binding(ports=[0]))

    def at(self, name: str) -> str:
        """The place of a job in the pages."""
        return f"job/{'completed' if name in ENDED else 'running'}/{self.ids[name]}"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    made = Shown(tmp_path_factory.mktemp("pages"))
    made.server.start()
    yield made
    made.server.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        with chromium() as found:
            yield found
    except ServiceUnavailable as error:
        missing(error)


@pytest.fixture
def walk(browser: Browser, shown: Shown) -> Iterator[Walk]:
    with walking(browser, shown.server.address) as found:
        yield found
    assert found.wrong == []


def test_the_cluster(walk: Walk, shown: Shown) -> None:
    for way in CLUSTER:
        walk.go(way)
    walk.shows("job/running", ["running", "plain", "restarting"])
    walk.shows("job/completed", list(ENDED))
    walk.shows("overview", ["running", "failed"])
    for manager in shown.holder.task_managers():
        walk.shows("task-manager", [manager.id])
        for way in OF_WORKER:
            walk.go(f"task-manager/{manager.id}/{way}")


@pytest.mark.parametrize("name", ["running", "plain", "waiting", "restarting", *ENDED])
def test_a_job(walk: Walk, shown: Shown, name: str) -> None:
    document = shown.holder.job(shown.ids[name])
    assert document is not None
    for way in OF_JOB:
        # Of a batch job nothing is known about checkpoints: 404, of Flink's, too.
        if (name, way) != ("batch", "checkpoints"):
            walk.shows(f"{shown.at(name)}/{way}", [name])
    walk.shows(f"{shown.at(name)}/overview", [vertex.name for vertex in document.vertices])
    if document.exceptions:
        walk.shows(f"{shown.at(name)}/exceptions", [document.exceptions[0].name])
    if document.checkpoints.history:
        walk.shows(f"{shown.at(name)}/checkpoints", ["Latest Completed Checkpoint", "Checkpoint Counts"])


@pytest.mark.parametrize("name", ["running", "failed"])
def test_a_vertex(walk: Walk, shown: Shown, name: str) -> None:
    document = shown.holder.job(shown.ids[name])
    assert document is not None
    for tab in OF_VERTEX:
        walk.shows(f"{shown.at(name)}/overview/{document.vertices[0].id}/{tab}", [document.vertices[0].name])
