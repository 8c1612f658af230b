"""What a service gets of a job that writes to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.connectors.http.conftest import HttpTables
from tests.connectors.http.service import Asked, Reply, Service

from millrace.common.serialization import SimpleStringSchema
from millrace.connectors.sink_base import DeliveryGuarantee
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.http import HttpSink
from millrace.runtime.failure import JobFailedError
from millrace.testing.connectors.runtime import Clock, ElementContext, WriterContext
from millrace.testing.local import run_locally
from millrace.util.exceptions import TableException

Serve = Callable[..., Service]
COLUMNS = "id BIGINT, name STRING"


def row(number: int) -> dict[str, Any]:
    return {"id": number, "name": f"n{number}"}


def write(tables: HttpTables, count: int, **how: Any) -> None:
    values = ", ".join(f"({number}, 'n{number}')" for number in range(count))
    tables.insert(f"INSERT INTO t VALUES {values}", 1, **how)


@pytest.mark.parametrize("connector", ["http", "http-sink"])
def test_rows_go_out_in_arrays(serve: Serve, tables: HttpTables, connector: str) -> None:
    service = serve(lambda asked: b"")
    tables.over("t", COLUMNS, f"{service.url}/in", connector, **{"http.sink.request.batch.size": "10"})
    write(tables, 25)
    assert sorted(len(each.json) for each in service.asked) == [5, 10, 10]
    assert sorted((each["id"], each["name"]) for asked in service.asked for each in asked.json) == [
        (number, f"n{number}") for number in range(25)
    ]
    assert {(each.method, each.path, each.headers["content-type"]) for each in service.asked} == {
        ("POST", "/in", "application/json")
    }


def test_one_by_one_in_order_with_ids(serve: Serve, tables: HttpTables) -> None:
    service = serve(lambda asked: b"")
    more = {
        "http.sink.writer.request.mode": "single",
        "sink.requests.max-inflight": "1",
        "insert-method": "PUT",
        "http.sink.idempotency-key.header": "Idempotency-Key",
        "http.sink.idempotency-key.fields": "id;name",
        "http.sink.header.Content-Type": "text/plain",
    }
    tables.over("t", COLUMNS, service.url, **more)
    write(tables, 5)
    assert [each.json for each in service.asked] == list(map(row, range(5)))
    assert [each.headers["idempotency-key"] for each in service.asked] == [f"{n}-n{n}" for n in range(5)]
    assert {(each.method, each.headers["content-type"]) for each in service.asked} == {("PUT", "text/plain")}


def faulty(*faults: Reply) -> Callable[[Asked], Any]:
    left = list(faults)
    return lambda asked: left.pop(0) if left else b""


@pytest.mark.parametrize(
    "fault",
    [Reply(status=500), Reply(status=429, headers={"Retry-After": "0"}), Reply(close=True), Reply(slow=20)],
    ids=["500", "429", "closed", "slow"],
)
def test_a_request_that_comes_again_has_the_same_id(serve: Serve, tables: HttpTables, fault: Reply) -> None:
    service = serve(faulty(fault))
    more = {"http.sink.request.timeout": "500 ms", "http.sink.idempotency-key.header": "X-Id"}
    tables.over("t", COLUMNS, service.url, **more)
    write(tables, 3)
    assert len(service.asked) >= 2
    assert all(each.json == list(map(row, range(3))) for each in service.asked)
    assert len({each.headers["x-id"] for each in service.asked}) == 1


@pytest.mark.parametrize(
    ("fault", "options", "message"),
    [
        (Reply(b"no", 400), {}, r"POST http://127.0.0.1:\d+: status 400, 'no'"),
        (Reply(status=302, headers={"Location": "/"}), {}, r"status 302"),
        (Reply(status=503), {"http.sink.retry.times": "2"}, r"status 503, after 3 attempts"),
        (Reply(status=201), {"http.sink.success-codes": "200"}, r"status 201"),
        (Reply(status=404), {"http.sink.error.code": "404"}, r"status 404"),
    ],
)
def test_errors_fail_the_job(
    serve: Serve, tables: HttpTables, fault: Reply, options: dict[str, str], message: str
) -> None:
    service = serve(lambda asked: fault)
    tables.over("t", COLUMNS, service.url, **options)
    with pytest.raises(JobFailedError, match=message):
        write(tables, 3)


@pytest.mark.parametrize(
    ("status", "options"),
    [
        (404, {"http.sink.error.code.exclude": "404"}),
        (404, {"http.sink.error.code": "5XX"}),
        (410, {"http.sink.ignored-response-codes": "410"}),
    ],
)
def test_codes_that_are_fine(serve: Serve, tables: HttpTables, status: int, options: dict[str, str]) -> None:
    service = serve(lambda asked: Reply(status=status))
    tables.over("t", COLUMNS, service.url, **options)
    write(tables, 3)
    assert len(service.asked) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sink.delivery-guarantee": "exactly-once"}, r"HTTP has nothing that takes a request back"),
        ({"http.sink.idempotency-key.fields": "id"}, r"needs 'http.sink.writer.request.mode' = 'single'"),
        ({"insert-method": "GET"}, r"is one of POST, PUT, PATCH"),
        ({"http.sink.error.code": "bad"}, r"written as 2XX"),
    ],
)
def test_options_that_cannot_be(tables: HttpTables, options: dict[str, str], message: str) -> None:
    tables.over("t", COLUMNS, "http://127.0.0.1:1", **options)
    with pytest.raises(TableException, match=message):
        write(tables, 1)


def test_elements_as_they_are(serve: Serve) -> None:
    service = serve(lambda asked: b"")
    builder = HttpSink.builder().set_endpoint_url(service.url).set_method("put")
    single = builder.set_property("http.sink.writer.request.mode", "single").set_idempotency_key("Id", len)
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    env.from_collection(["a", "ä€"]).sink_to(single.set_element_converter(SimpleStringSchema()).build())
    run_locally(env)
    assert sorted((each.body.decode(), each.headers["id"], each.method) for each in service.asked) == [
        ("a", "1", "PUT"),
        ("ä€", "2", "PUT"),
    ]


def test_a_builder_refuses() -> None:
    builder = HttpSink.builder()
    with pytest.raises(ValueError, match="set_endpoint_url"):
        builder.build()
    with pytest.raises(ValueError, match="HTTP has nothing that takes a request back"):
        builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    with pytest.raises(ValueError, match="in flight is 1 or more"):
        builder.set_max_in_flight_requests(0)
    with pytest.raises(ValueError, match="'single'"):
        builder.set_endpoint_url("http://x").set_idempotency_key("Id", str).build()


def test_large_elements_go_alone(serve: Serve) -> None:
    service = serve(lambda asked: b"")
    sink = HttpSink.builder().set_endpoint_url(service.url).set_max_batch_size_in_bytes(100).build()
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    texts = ["x" * 40, "y" * 40, "z" * 300, "w" * 10]
    env.from_collection([json.dumps(each) for each in texts]).sink_to(sink)
    run_locally(env)
    assert sorted(map(len, (each.json for each in service.asked))) == [1, 1, 2]
    assert sorted(text for each in service.asked for text in each.json) == sorted(texts)


def test_an_element_alone_is_sent_after_a_while(serve: Serve) -> None:
    service, clock = serve(lambda asked: b""), Clock()
    builder = HttpSink.builder().set_endpoint_url(service.url).set_element_converter(lambda number: {"id": number})
    writer = builder.set_max_time_in_buffer_ms(200).build().create_writer(WriterContext(0, 1, 1, clock))
    writer.write(7, ElementContext())
    writer.end_slice(clock.now + 199)
    assert service.asked == []
    writer.end_slice(clock.now + 200)
    writer.end_slice(clock.now + 900)
    writer.flush(False)
    assert [each.json for each in service.asked] == [[{"id": 7}]]
    writer.close()
