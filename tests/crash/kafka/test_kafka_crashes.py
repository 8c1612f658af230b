"""Exactly once on real brokers while something dies: one round of some kinds; ``make crash-kafka`` runs many of all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.crash.kafka.running import KINDS, LONG_MS, SHORT_MS, CrashJob, three_brokers
from tests.rings import one_of
from tests.seeds import seed_of
from tests.servers.proxy import Proxy
from tests.services import missing

from millrace.testing.services import Kafka, ServiceUnavailable

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]
SEED = seed_of("MILLRACE_CRASH_SEED")


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[Kafka, Proxy]]:
    try:
        with three_brokers() as made:
            yield made
    except ServiceUnavailable as error:
        missing(error)


SOME = [(LONG_MS, tuple(one_of(["driver", "owner"]))), pytest.param(SHORT_MS, ("stopped",), marks=pytest.mark.slow)]


@pytest.mark.parametrize(("timeout", "kinds"), SOME)
def test_every_record_once(cluster: tuple[Kafka, Proxy], tmp_path: Path, timeout: int, kinds: tuple[str, ...]) -> None:
    print(f"MILLRACE_CRASH_SEED={SEED}")
    assert all(KINDS[kind] == timeout for kind in kinds)
    job = CrashJob(*cluster, tmp_path, SEED, timeout)
    try:
        for kind in kinds:
            job.round(kind)
        job.finish()
    finally:
        job.close()
