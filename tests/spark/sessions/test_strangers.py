"""Other users of the machine get nothing from the Spark of a session that Millrace has made."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark.sessions.attacked import WRITTEN, assert_closed, attacked, session
from tests.strangers import as_stranger, is_loopback, ports_of, stranger

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

CLUSTER = ("millrace.master=local-cluster[2,1,512]", "spark.executor.memory=512m")


def test_the_attacks_are_attacks(tmp_path: Path) -> None:
    """On a session that asks for no secret they all get what they want."""
    stranger()
    with session(tmp_path, "spark.authenticate=false", "spark.ui.enabled=true") as (told, processes):
        ports = ports_of(*processes)
        answers = attacked(told, ports)
        got = {call: [each["got"] for each in found if "got" in each] for call, found in answers.items()}
        assert got["read"][0].startswith(b"LZ4Block".hex()), "a broadcast as Spark stores it"
        assert got["write"] == ["written"]
        again = as_stranger(*[(port, "read", (told["application"], WRITTEN)) for port in ports])
        assert {"got": "cafe"} in again, "what was written is there"
        assert got["call"]
        assert any("Environment" in each for each in got["page"])


@pytest.mark.parametrize(
    ("configuration", "servers", "doors"),
    [pytest.param((), 2, 3, id="one"), pytest.param(CLUSTER, 7, 11, id="several", marks=pytest.mark.slow)],
)
def test_they_get_nothing(tmp_path: Path, configuration: tuple[str, ...], servers: int, doors: int) -> None:
    """From one process, or from a local cluster with its master, workers and executors."""
    stranger()
    with session(tmp_path, *configuration) as (told, processes):
        ports = ports_of(*processes)
        assert len(ports) >= doors, "all of them were found"
        assert [port for port, addresses in ports.items() if not all(map(is_loopback, addresses))] == []
        assert told["page"] is None
        assert_closed(told, ports, servers)
        streams = as_stranger(*[(port, "stream", ("/files/shipped.txt",)) for port in ports])
        assert configuration or not [each for each in streams if "got" in each], "one process offers no files"
        assert bool(told["secret"]) == bool(configuration)
        lines = [Path(f"/proc/{pid}/cmdline").read_text() for pid in processes]
        assert [line for line in lines if told["secret"] and told["secret"] in line] == []
