"""RabbitMQ in PyFlink's words, and what goes wrong with it."""

from __future__ import annotations

import time
from typing import Any

import pika
import pytest
from tests.connectors.rabbitmq.queues import Queues

from millrace.common.serialization import SimpleStringSchema
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.rabbitmq import RMQConnectionConfig, RMQSink, RMQSource
from millrace.runtime.failure import JobFailedError
from millrace.testing.connectors.sources import SourceJob
from millrace.testing.local import run_locally

pytestmark = pytest.mark.services


@pytest.fixture
def queues(rabbitmq: Any) -> Queues:
    return Queues(rabbitmq.url)


def test_a_program_of_pyflink(rabbitmq: Any, queues: Queues) -> None:
    config = (
        RMQConnectionConfig.Builder()
        .set_host("127.0.0.1")
        .set_port(rabbitmq.port)
        .set_virtual_host("/")
        .set_user_name("guest")
        .set_password("guest")
        .set_connection_timeout(20_000)
        .set_requested_heartbeat(30)
        .set_prefetch_count(100)
        .build()
    )
    assert (config.get_host(), config.get_port(), config.get_user_name()) == ("127.0.0.1", rabbitmq.port, "guest")
    source, target = queues.create(), queues.create()
    values = [str(number) for number in range(300)]
    queues.write(source, values)
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    stream = env.add_source(RMQSource(config, source, True, SimpleStringSchema()), "queue")
    stream.map(lambda value: value + "!").add_sink(RMQSink(config, target, SimpleStringSchema()))
    with pytest.raises(TimeoutError):  # it has no end
        run_locally(env, max_epochs=40)
    assert sorted(queues.read(target)) == sorted(value + "!" for value in values)


def test_queues_are_made_if_they_are_not_there_and_taken_as_they_are(queues: Queues) -> None:
    name = queues.create()
    queues.delete(name)
    job = SourceJob(RMQSource(queues.config, name, False, SimpleStringSchema()))
    job.epoch()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            queues.write(name, ["a"])
            break
        except pika.exceptions.AMQPError:
            time.sleep(0.05)
    _until(job, ["a"])
    job.close()
    with pika.BlockingConnection(pika.URLParameters(queues.url)) as connection:
        connection.channel().queue_declare(name + "-short", durable=False, arguments={"x-max-length": 5})
    queues.write(name + "-short", ["b"])
    job = SourceJob(RMQSource(queues.config, name + "-short", False, SimpleStringSchema()))
    _until(job, ["b"])
    job.close()
    queues.delete(name)
    queues.delete(name + "-short")


def _until(job: SourceJob, wanted: list[str]) -> None:
    until = time.monotonic() + 60
    while sorted(job.emitted) != wanted:
        job.epoch()
        assert time.monotonic() < until, job.emitted


def test_ids_are_kept_until_their_messages_cannot_come_again(queues: Queues) -> None:
    name = queues.create()
    queues.write(name, ["a", "b"])
    source = RMQSource(queues.config, name, True, SimpleStringSchema())
    job = SourceJob(source)
    _until(job, ["a", "b"])
    recorded = job.checkpoint()
    assert b"id of a" in recorded.state
    job.close()  # before it could acknowledge
    assert sorted(queues.read(name)) == ["a", "b"]
    again = SourceJob(source, checkpoint=recorded)
    queues.write(name, ["c"])
    _until(again, ["a", "b", "c"])
    until = time.monotonic() + 60
    while b"id of" in (kept := again.checkpoint()).state:
        again.epoch()
        assert time.monotonic() < until
    assert list(kept.emitted) == again.emitted
    assert queues.read(name) == []
    again.close()
    queues.delete(name)


def test_the_same_id_counts_again_once_its_message_is_gone(queues: Queues) -> None:
    name = queues.create()
    job = SourceJob(RMQSource(queues.config, name, True, SimpleStringSchema()))
    queues.write(name, ["a", "a"])
    _until(job, ["a"])
    job.epoch()
    for _ in range(20):
        job.checkpoint()
        job.epoch()
    queues.write(name, ["a"])
    _until(job, ["a", "a"])
    job.close()
    queues.delete(name)


def test_settings_that_are_missing() -> None:
    with pytest.raises(ValueError, match="RMQConnectionConfig has no virtual host, password"):
        RMQConnectionConfig.Builder().set_host("h").set_port(1).set_user_name("u").build()


def test_a_wrong_password_is_told_and_not_shown(rabbitmq: Any) -> None:
    config = RMQConnectionConfig.Builder().set_uri(f"amqp://guest:secret@127.0.0.1:{rabbitmq.port}/%2f").build()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(["a"]).add_sink(RMQSink(config, "q", SimpleStringSchema()))
    with pytest.raises(JobFailedError, match="does not answer, or does not let us in") as told:
        run_locally(env)
    assert "secret" not in str(told.value)


def test_a_server_that_is_not_there() -> None:
    config = RMQConnectionConfig.Builder().set_uri("amqp://guest:guest@127.0.0.1:1/%2f").build()
    with pytest.raises(ConnectionError, match=r"RabbitMQ at 127.0.0.1:1/%2f does not answer"):
        config.connect()
