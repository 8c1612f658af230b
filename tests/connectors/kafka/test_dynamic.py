"""``DynamicKafkaSource``: streams whose topics and clusters change while it reads.

One broker plays the part of several clusters.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
import uuid
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.connectors.kafka.topics import Topics

from millrace.common.serialization import SimpleStringSchema
from millrace.common.source import Source
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.kafka.dynamic_kafka_source import DISCOVERY, FAILURES
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.dynamic_kafka import (
    ClusterMetadata,
    DynamicKafkaSource,
    KafkaMetadataService,
    KafkaStream,
    SingleClusterTopicMetadataService,
)
from millrace.datastream.connectors.kafka import KafkaOffsetsInitializer
from millrace.testing import Check
from millrace.testing.connectors import SourceUnderTest, source_checks
from millrace.testing.connectors.sources import SourceJob
from millrace.testing.local import run_locally

pytestmark = pytest.mark.services
BROKERS: list[Topics] = []


@pytest.fixture(autouse=True)
def running(topics: Topics) -> Iterator[None]:
    BROKERS.append(topics)
    yield
    BROKERS.clear()


class FileService(KafkaMetadataService):
    """Streams that a file describes: {stream: {cluster: [topics]}}."""

    def __init__(self, path: Path, bootstrap: str) -> None:
        self.path, self.bootstrap = path, bootstrap

    def write(self, **streams: dict[str, list[str]]) -> None:
        self.path.with_suffix(".new").write_text(json.dumps(streams))
        os.replace(self.path.with_suffix(".new"), self.path)

    def get_all_streams(self) -> list[KafkaStream]:
        properties = {"bootstrap.servers": self.bootstrap}
        return [
            KafkaStream(name, {each: ClusterMetadata(tuple(topics), properties) for each, topics in clusters.items()})
            for name, clusters in json.loads(self.path.read_text()).items()
        ]

    def describe_streams(self, stream_ids: Collection[str]) -> dict[str, KafkaStream]:
        return {each.stream_id: each for each in self.get_all_streams() if each.stream_id in stream_ids}


def builder(service: KafkaMetadataService, **properties: str) -> Any:
    made = DynamicKafkaSource.builder().set_stream_ids({"orders"}).set_kafka_metadata_service(service)
    made.set_value_only_deserializer(SimpleStringSchema()).set_group_id("tests")
    return made.set_property(DISCOVERY, "50").set_properties(properties)


def until(job: SourceJob, wanted: list[str]) -> None:
    limit = time.monotonic() + 60
    while sorted(job.emitted) != wanted:
        job.epoch()
        assert time.monotonic() < limit, job.emitted
        assert len(job.emitted) <= len(wanted), job.emitted


def test_two_clusters_to_their_ends(topics: Topics, tmp_path: Path) -> None:
    names = [topics.create(2), topics.create(1), topics.create(1)]
    for number, name in enumerate(names):
        topics.write(name, [f"{number}-{each}" for each in range(20)])
    service = FileService(tmp_path / "streams", topics.bootstrap)
    service.write(orders={"east": names[:2], "west": names[2:]}, others={"west": ["none"]})
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    source = builder(service).set_bounded(KafkaOffsetsInitializer.latest()).build()
    found = run_locally(env.from_source(source, WatermarkStrategy.no_watermarks(), "dynamic")).collected
    assert sorted(found) == sorted(f"{number}-{each}" for number in range(3) for each in range(20))


def test_topics_come_and_go_and_come_back(topics: Topics, tmp_path: Path) -> None:
    old, new = topics.create(2), topics.create(1)
    service = FileService(tmp_path / "streams", topics.bootstrap)
    service.write(orders={"east": [old]})
    topics.write(old, ["a"])
    job = SourceJob(builder(service).build(), 2)
    until(job, ["a"])
    topics.write(new, ["b"])
    service.write(orders={"west": [new]})
    until(job, ["a", "b"])
    _settle(job)
    topics.write(old, ["while it was away"])
    for _ in range(10):
        job.epoch()
        time.sleep(0.02)
    assert sorted(job.emitted) == ["a", "b"]
    recorded = job.checkpoint()
    job.close()
    # It goes on where it was left, also after a failure.
    service.write(orders={"east": [old], "west": [new]})
    again = SourceJob(builder(service).build(), 1, recorded)
    topics.write(new, ["c"])
    until(again, ["a", "b", "c", "while it was away"])
    again.close()


def _settle(job: SourceJob) -> None:
    """Time for readers and enumerator to tell each other."""
    for _ in range(10):
        job.epoch()
        time.sleep(0.03)


def test_topics_by_pattern(topics: Topics) -> None:
    prefix = f"p{uuid.uuid4().hex[:6]}"
    topics.create(1, f"{prefix}-a")
    service = SingleClusterTopicMetadataService("here", {"bootstrap.servers": topics.bootstrap})
    source = (
        DynamicKafkaSource.builder()
        .set_stream_pattern(f"{prefix}-.*")
        .set_kafka_metadata_service(service)
        .set_value_only_deserializer(SimpleStringSchema())
        .set_property(DISCOVERY, "50")
        .build()
    )
    topics.write(f"{prefix}-a", ["1"])
    job = SourceJob(source)
    until(job, ["1"])
    topics.create(1, f"{prefix}-b")
    topics.write(f"{prefix}-b", ["2"])
    until(job, ["1", "2"])
    job.close()


def test_a_service_that_fails(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    service = FileService(tmp_path / "streams", topics.bootstrap)
    service.write(orders={"east": [topic]})
    job = SourceJob(builder(service, **{FAILURES: "3"}).build())
    topics.write(topic, ["a"])
    until(job, ["a"])
    service.path.unlink()
    limit = time.monotonic() + 60
    with pytest.raises(FileNotFoundError):
        _run_to(job, limit)
    job.close()


def _run_to(job: SourceJob, limit: float) -> None:
    while time.monotonic() < limit:
        job.epoch()


def test_what_is_missing() -> None:
    with pytest.raises(ValueError, match="needs streams, a metadata service and a deserializer"):
        DynamicKafkaSource.builder().set_stream_ids({"a"}).build()


class StreamToRead(SourceUnderTest):
    def __init__(self) -> None:
        self._topics = BROKERS[0]
        self._names = [self._topics.create(2), self._topics.create(1)]
        self._service = FileService(Path(tempfile.gettempdir()) / f"streams-{uuid.uuid4().hex}", self._topics.bootstrap)
        self._service.write(orders={"east": self._names[:1], "west": self._names[1:]})

    def source(self) -> Source[Any, Any]:
        made: Source[Any, Any] = builder(self._service).build()
        return made

    def put(self, elements: Sequence[str]) -> None:
        for number, name in enumerate(self._names):
            self._topics.write(name, elements[number::2])

    def close(self) -> None:
        self._service.path.unlink()
        for name in self._names:
            self._topics.delete(name)


@pytest.mark.draw(2)
@pytest.mark.parametrize("check", source_checks(StreamToRead), ids=str)
def test_conformance(check: Check) -> None:
    check()
