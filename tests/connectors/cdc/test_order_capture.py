"""The demo from end to end: two databases that change, one query, and an index that follows them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from millrace.datastream import StreamExecutionEnvironment
from millrace.testing.local import LocalEngine
from millrace.testing.services import MariaDB, OpenSearch, PostgreSQL

EXAMPLES = Path(__file__).parents[3] / "examples"
DEADLINE_SECONDS = 120.0
pytestmark = pytest.mark.services


class Submitted(Exception):
    """In place of a job that Spark runs: what it would run."""


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import order_capture

    return order_capture


@pytest.fixture
def orders(postgres: PostgreSQL) -> Iterator[tuple[Any, str]]:
    """A connection, and the schema in which it makes tables. Slots whose names begin with that go at the end."""
    name = f"s_{uuid.uuid4().hex[:10]}"
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")  # type: ignore[arg-type]
        connection.execute(f"SET search_path TO {name}")  # type: ignore[arg-type]
        yield connection, name
        slots = "pg_replication_slots WHERE slot_name LIKE %s"
        until = time.monotonic() + DEADLINE_SECONDS
        while connection.execute(f"SELECT 1 FROM {slots} AND active", [f"{name}%"]).fetchone():  # type: ignore[arg-type]
            assert time.monotonic() < until
            time.sleep(0.05)
        connection.execute(f"SELECT pg_drop_replication_slot(slot_name) FROM {slots}", [f"{name}%"])  # type: ignore[arg-type]
        connection.execute(f"DROP PUBLICATION millrace_{name}orders, millrace_{name}shipments")  # type: ignore[arg-type]
        connection.execute(f"DROP SCHEMA {name} CASCADE")  # type: ignore[arg-type]


@pytest.fixture
def products(demo: Any, mariadb: MariaDB) -> Iterator[Any]:
    with demo.connected(mariadb) as connection:
        yield connection
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE products")


def expected(orders: Any, products: Any) -> dict[str, dict[str, Any]]:
    """The documents, by what the tables have now."""
    with products.cursor() as cursor:
        cursor.execute("SELECT id, name, description FROM products")
        names = {number: (name, description) for number, name, description in cursor.fetchall()}
    rows = orders.execute(
        "SELECT order_id, order_date::text, customer_name, price, product_id, shipment_id, origin, destination, "
        "is_arrived FROM orders LEFT JOIN shipments USING (order_id)"
    ).fetchall()
    return {
        str(number): {
            "order_id": number, "order_date": date, "customer_name": by, "price": float(price), "product_id": product,
            "product_name": names.get(product, (None, None))[0],
            "product_description": names.get(product, (None, None))[1],
            "shipment_id": shipment, "origin": origin, "destination": destination, "is_arrived": arrived,
        }
        for number, date, by, price, product, shipment, origin, destination, arrived in rows
    }  # fmt: skip


def test_an_index_follows_two_databases(
    demo: Any, postgres: PostgreSQL, mariadb: MariaDB, opensearch: OpenSearch, orders: tuple[Any, str], products: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def submit(environment: StreamExecutionEnvironment, *_: Any) -> None:
        raise Submitted(environment.job_graph())

    monkeypatch.setattr(StreamExecutionEnvironment, "_submit", submit)
    connection, schema = orders
    index = schema.replace("_", "-")
    demo.fill(connection, products)
    with pytest.raises(Submitted) as submitted:
        demo.statements(postgres, mariadb, opensearch.url, schema, index, schema).execute()
    epochs = LocalEngine(submitted.value.args[0], lambda: int(time.time() * 1000)).epochs()

    def wait(done: Callable[[dict[str, Any]], bool]) -> None:
        """Until the program itself would go on; by then the index has what the tables have."""
        until = time.monotonic() + DEADLINE_SECONDS
        found = None
        while found is None or not done(found) or found != expected(connection, products):
            assert time.monotonic() < until, found
            next(epochs)
            found = demo.documents(opensearch.url, index)

    try:
        wait(demo.complete)
        for step in demo.STEPS:
            demo.take(step, connection, products)
            wait(step.done)
        assert sorted(demo.documents(opensearch.url, index)) == ["10001", "10002", "10003"]
    finally:
        epochs.close()  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.usefixtures("spark", "postgres", "mariadb", "opensearch")
def test_the_demo_as_it_is(demo: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main() == 0
    assert capsys.readouterr().out.count("In the index after") == len(demo.STEPS)
