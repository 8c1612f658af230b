"""Brokers that are away: one error within the time that an option says, which names both."""

from __future__ import annotations

import logging
import time

import pytest

from millrace.connectors.kafka.kafka_admin import Cluster
from millrace.connectors.kafka.kafka_records import ProducerRecord
from millrace.connectors.kafka.kafka_settings import kafka_python
from millrace.connectors.kafka.kafka_writers import Sending

AWAY = {"bootstrap.servers": "127.0.0.1:1"}


def test_a_source_names_the_brokers_the_option_and_the_reason() -> None:
    cluster = Cluster({**AWAY, "default.api.timeout.ms": "300"})
    began = time.monotonic()
    with pytest.raises(ConnectionError) as raised:
        cluster.partitions()
    assert time.monotonic() - began < 30
    text = str(raised.value)
    assert text.startswith(
        "Kafka at 127.0.0.1:1 ('bootstrap.servers') does not tell its topics, asked for 0.3 s "
        "('default.api.timeout.ms'): "
    )
    assert "KafkaError{" not in text
    assert raised.value.__suppress_context__, "no traceback of the client's before it"


def test_the_option_is_a_number() -> None:
    with pytest.raises(ValueError, match=r"'default.api.timeout.ms' is a number of milliseconds, not 'soon'"):
        Cluster({**AWAY, "default.api.timeout.ms": "soon"})


def test_a_sink_does_too_and_is_closed_at_once() -> None:
    """librdkafka's own time is five minutes, for which closing it would wait."""
    began = time.monotonic()
    sending = Sending(AWAY, deadline=1.0)
    sending.send(ProducerRecord("orders", b"value"))
    with pytest.raises(ConnectionError) as raised:
        sending.flush()
    sending.close()
    assert time.monotonic() - began < 60
    text = str(raised.value)
    assert text.startswith("Kafka at 127.0.0.1:1 ('bootstrap.servers'): ")
    assert "'delivery.timeout.ms'" in text


def test_a_topic_that_is_asked_for_in_vain_names_the_brokers() -> None:
    sending = Sending(AWAY, deadline=0.3)
    with pytest.raises(ConnectionError, match=r"^Kafka at 127.0.0.1:1 \('bootstrap.servers'\): it does not tell of "):
        sending.partitions("orders")
    sending.close()


def test_the_second_client_is_silent_below_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    log = logging.getLogger("kafka")
    monkeypatch.setattr(log, "level", logging.NOTSET)
    kafka_python()
    assert log.getEffectiveLevel() == logging.WARNING
    monkeypatch.setattr(log, "level", logging.DEBUG)
    kafka_python()
    assert log.level == logging.DEBUG, "what the program wants to hear counts more"
