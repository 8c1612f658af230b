"""Kafka's writers at the end of a slice, with a producer that only listens."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.connectors.kafka import kafka_writers
from millrace.testing.connectors.runtime import ElementContext

SAID: list[str] = []


class Listening:
    """In place of ``Sending``."""

    def __init__(self, settings: Any, deadline: float) -> None:
        said = SAID.append
        self.producer = SimpleNamespace(
            init_transactions=lambda seconds: said("init"),
            begin_transaction=lambda: said("begin"),
            close=lambda: None,
        )

    def send(self, record: Any) -> None:
        SAID.append(f"send {record}")

    def serve(self) -> None:
        SAID.append("serve")

    def flush(self) -> None:
        SAID.append("flush")

    def partitions(self, topic: str) -> int:
        return 1

    def close(self) -> None: ...


class Texts:
    """In place of a ``RecordSerializer``."""

    def open(self, *where: Any) -> None: ...

    def records(self, element: str, timestamp: int | None) -> list[Any]:
        return [element]


@pytest.fixture(autouse=True)
def listening(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(kafka_writers, "Sending", Listening)
    monkeypatch.setattr(kafka_writers, "Sending", Listening)
    yield
    SAID.clear()


def test_the_end_of_a_slice_waits_for_nobody() -> None:
    """The producer sends by itself; its callbacks tell of errors."""
    to = kafka_writers.PlainWriter[str]({}, Texts(), (0, 1), 1.0, waits=True)  # type: ignore[arg-type]
    to.write("a", ElementContext())
    to.end_slice(5)
    assert SAID == ["send a", "serve"]
    to.flush(False)
    assert SAID[2:] == ["flush"]
    to.close()


def test_nor_does_a_transaction() -> None:
    transactions: Any = SimpleNamespace(close=lambda: None, describe=lambda names: {})
    to = kafka_writers.TransactionalWriter[str]({}, Texts(), (0, 1), 1.0, transactions, "p-", 1)  # type: ignore[arg-type]
    to.end_slice(5)
    to.write("a", ElementContext())
    to.end_slice(6)
    assert SAID == ["init", "begin", "send a", "serve"]
    to.close()
