"""Jobs on a Spark that encrypts its connections: those of tasks that stay, or are in flow, are encrypted, too."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.running import Hit, Run
from tests.cluster.victims import Victim, kill
from tests.rings import one_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

ENCRYPTED = {
    "spark.authenticate": "true",
    "spark.authenticate.secret": "of this test",
    "spark.network.crypto.enabled": "true",
}


class EncryptedRun(Run):
    """Its driver says which connections it accepts."""

    job = Path(__file__).with_name("encrypted_job.py")
    stays = False

    def arguments(self) -> dict[str, Any]:
        return {**super().arguments(), "stays": self.stays}


def texts(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.read_text(errors="replace")


@pytest.mark.parametrize("way", one_of(["stays", "flow"]))
@pytest.mark.parametrize(
    "hits", [(), pytest.param((Hit(Victim.OWNER, kill, 1.0),), marks=pytest.mark.slow)], ids=["no hit", "a hit"]
)
def test_the_answers_are_the_same(tmp_path: Path, hits: Sequence[Hit], way: str) -> None:
    events = tmp_path / "events"
    events.mkdir()
    logging = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": str(events),
    }
    run = EncryptedRun(
        tmp_path / "run",
        "local-cluster[2,1,700]",
        (),
        2,
        **{"millrace.epoch.execution": "resident", **logging},
        **ENCRYPTED,
    )
    run.stays = way == "stays"
    run.hit(hits, random.Random(1), timeout=300)
    said = run.said()
    assert said.count("a connection, encrypted: True") >= 2
    assert "a connection, encrypted: False" not in said
    assert "its epochs are spark-jobs" not in said
    logged = list(texts(events))
    assert any("mapInArrow" in text or "MapInArrow" in text for text in logged)
    for text in [said, *logged]:
        assert "PRIVATE KEY" not in text
        assert "BEGIN CERTIFICATE" not in text
