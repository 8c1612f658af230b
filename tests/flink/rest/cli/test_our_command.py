"""Our command in place of Flink's: the same phrases, streams and exit codes, or a reason why not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cluster.rest.flink_jobs import FlinkJobs
from tests.cluster.rest.samples import SampleHolder
from tests.flink.rest import world
from tests.flink.rest.cli.compare import compare
from tests.flink.rest.cli.ours import CommandHere, needs_no_program
from tests.flink.rest.cli.steps import steps
from tests.flink.rest.cli.values import CommandValues
from tests.flink.rest.known import Known, explained
from tests.flink.rest.ours.reasons import OF_COMMAND
from tests.flink.rest.world import World

from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.serving import RestServer
from millrace.cluster.rest.settings import Binding, RestSettings

OF_SAMPLES = (
    Known("samples have other names, and are there when they are first asked for", "list *", "out"),
    Known("samples take no real savepoints", "savepoint * (disposal*)"),
)


def test_it_says_what_flinks_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "SECONDS", 5)
    holder = SampleHolder()
    (tmp_path / "savepoints").mkdir()
    server = RestServer(make_app(holder, None, RestSettings(pages=tmp_path)), Binding(ports=[0]))
    server.start()
    try:
        base = server.address.replace("localhost", "127.0.0.1")
        values = CommandValues(World(base, FlinkJobs(holder, tmp_path / "savepoints")))
        asked = [step for step in steps() if needs_no_program(step)]
        found = compare(CommandHere(base.removeprefix("http://")), values, asked)
    finally:
        server.stop()
    assert len(asked) > 70
    assert not (others := explained(found, (*OF_COMMAND, *OF_SAMPLES))[1]), "\n".join(map(str, others))
