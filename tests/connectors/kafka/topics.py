"""Topics of a test: made, filled and read by a client that is not the connector's."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

Record = tuple[int, int, bytes | None, bytes | None]
"""partition, offset, key, value"""
_names = itertools.count()


class Topics:
    """
    :ivar bootstrap: of the cluster.
    """

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.admin = AdminClient({"bootstrap.servers": bootstrap})

    def create(self, partitions: int = 1, name: str | None = None, **config: str) -> str:
        name = name or f"t{next(_names)}-{uuid.uuid4().hex[:6]}"
        made: Any = NewTopic(name, partitions, config=config)
        self.admin.create_topics([made])[name].result()
        self._there(name, partitions)
        return name

    def _there(self, name: str, partitions: int) -> None:
        """The controller answers before its brokers know."""
        until = time.monotonic() + 30
        while len(self.admin.list_topics(name, timeout=30).topics[name].partitions) != partitions:
            assert time.monotonic() < until, f"no broker knows of {name} yet"
            time.sleep(0.01)

    def widen(self, name: str, partitions: int) -> None:
        made: Any = NewPartitions(name, partitions)
        self.admin.create_partitions([made])[name].result()
        self._there(name, partitions)

    def delete(self, name: str) -> None:
        self.admin.delete_topics([name])[name].result()

    def write(self, name: str, values: Iterable[Any], partition: int = -1, **more: Any) -> None:
        """:param values: values, or (key, value, timestamp in ms)."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 0})
        for value in values:
            key, content, at = value if isinstance(value, tuple) else (None, value, 0)
            producer.produce(name, content, key, partition, timestamp=at, **more)
        assert producer.flush(30) == 0

    def read(self, name: str, committed: bool = True) -> list[Record]:
        """All that is there, in the order of partitions and offsets."""
        return [(each.partition(), each.offset(), each.key(), each.value()) for each in self.messages(name, committed)]

    def values(self, name: str, committed: bool = True) -> list[str]:
        """What is there, sorted."""
        return sorted((value or b"").decode() for _, _, _, value in self.read(name, committed))

    def expect(self, name: str, values: list[str]) -> None:
        """These values are there, or will be soon: a commit is answered before its marks are in the partitions."""
        until = time.monotonic() + 60
        while (found := self.values(name)) != values and time.monotonic() < until:
            time.sleep(0.1)
        assert found == values

    def messages(self, name: str, committed: bool = True) -> list[Any]:
        settings: dict[str, Any] = {
            "bootstrap.servers": self.bootstrap,
            "group.id": "reader-of-tests",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
        consumer = Consumer(settings)
        try:
            partitions = consumer.list_topics(name, timeout=30).topics[name].partitions
            consumer.assign([TopicPartition(name, each, 0) for each in partitions])
            found, open_ = [], len(partitions)
            while open_:
                message = consumer.poll(30)
                assert message is not None, "a transaction hides what comes after it"
                if message.error() is None:
                    found.append(message)
                else:
                    assert message.error().name() == "_PARTITION_EOF", message.error()
                    open_ -= 1
            return sorted(found, key=lambda each: (each.partition(), each.offset()))
        finally:
            consumer.close()
