"""What ``make demo-cdc`` runs: orders of one database and products of another, in a search index that follows both.

    python examples/order_capture.py

Starts PostgreSQL, MariaDB (in MySQL's place) and OpenSearch on this machine. Orders and shipments are in PostgreSQL,
products in MariaDB; one query joins them into an index. Then the tables are changed one statement at a time, and what
the index has is shown after each. It is the program that Flink CDC's tutorial has.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pymysql
from rich.console import Console
from rich.table import Table

from millrace.table import EnvironmentSettings, StatementSet, TableEnvironment
from millrace.testing.services import MariaDB, OpenSearch, PostgreSQL, ServiceUnavailable

SECONDS = 120.0
"""in which a change has to be in the index, also on a slow machine"""
INDEX = "enriched_orders"
FIELDS = {"order_id": "order", "customer_name": "by", "product_name": "product", "price": "price",
          "shipment_id": "shipment", "origin": "from", "destination": "to", "is_arrived": "arrived"}  # fmt: skip
"""what is shown of a document, and its title"""
Documents = dict[str, dict[str, Any]]
console = Console(highlight=False)

ORDERS = """
    CREATE TABLE orders (
        order_id INT PRIMARY KEY, order_date TIMESTAMP NOT NULL, customer_name TEXT NOT NULL,
        price NUMERIC(10, 2) NOT NULL, product_id INT NOT NULL
    );
    CREATE TABLE shipments (
        shipment_id INT PRIMARY KEY, order_id INT NOT NULL, origin TEXT NOT NULL, destination TEXT NOT NULL,
        is_arrived BOOLEAN NOT NULL
    );
    INSERT INTO orders VALUES
        (10001, '2024-07-30 10:08:22', 'Ada', 50.50, 102),
        (10002, '2024-07-30 10:11:09', 'Ben', 15.00, 105),
        (10003, '2024-07-30 12:00:30', 'Cleo', 25.25, 106);
    INSERT INTO shipments VALUES
        (1, 10001, 'Hamburg', 'Bremen', false),
        (2, 10002, 'Kiel', 'Berlin', false),
        (3, 10003, 'Bonn', 'Mainz', false)
"""
PRODUCTS = (
    "CREATE TABLE products (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, description VARCHAR(100))",
    "INSERT INTO products VALUES (101, 'scooter', 'small, with two wheels'), (102, 'battery', '12 V'), "
    "(103, 'drill', 'with 8 bits'), (104, 'hammer', '400 g'), (105, 'hammer', '800 g'), (106, 'jacket', NULL)",
)

TABLES = """
    CREATE TABLE products (id INT, name STRING, description STRING, PRIMARY KEY (id) NOT ENFORCED)
    WITH ('connector' = 'mysql-cdc', 'hostname' = '127.0.0.1', 'port' = '{mariadb.port}',
          'username' = '{mariadb.user}', 'password' = '{mariadb.password}',
          'database-name' = '{mariadb.database}', 'table-name' = 'products');

    CREATE TABLE orders (
        order_id INT, order_date TIMESTAMP(0), customer_name STRING, price DECIMAL(10, 2), product_id INT,
        PRIMARY KEY (order_id) NOT ENFORCED
    ) WITH ({postgres}, 'table-name' = 'orders', 'slot.name' = '{slots}orders');

    CREATE TABLE shipments (
        shipment_id INT, order_id INT, origin STRING, destination STRING, is_arrived BOOLEAN,
        PRIMARY KEY (shipment_id) NOT ENFORCED
    ) WITH ({postgres}, 'table-name' = 'shipments', 'slot.name' = '{slots}shipments');

    CREATE TABLE enriched_orders (
        order_id INT, order_date TIMESTAMP(0), customer_name STRING, price DECIMAL(10, 2), product_id INT,
        product_name STRING, product_description STRING, shipment_id INT, origin STRING, destination STRING,
        is_arrived BOOLEAN, PRIMARY KEY (order_id) NOT ENFORCED
    ) WITH ('connector' = 'opensearch', 'hosts' = '{search}', 'index' = '{index}')
"""
# The log has whole rows only of tables with REPLICA IDENTITY FULL; 'upsert' does without.
POSTGRES = """'connector' = 'postgres-cdc', 'hostname' = '127.0.0.1', 'port' = '{server.port}',
          'username' = '{server.user}', 'password' = '{server.password}', 'database-name' = '{server.database}',
          'schema-name' = '{schema}', 'changelog-mode' = 'upsert'"""
QUERY = """
    INSERT INTO enriched_orders
    SELECT o.order_id, o.order_date, o.customer_name, o.price, o.product_id, p.name, p.description,
           s.shipment_id, s.origin, s.destination, s.is_arrived
    FROM orders AS o
    LEFT JOIN products AS p ON o.product_id = p.id
    LEFT JOIN shipments AS s ON o.order_id = s.order_id
"""


@dataclass(frozen=True)
class Step:
    """A statement, and whether an index has what becomes of it. ``products`` are MariaDB's, all else PostgreSQL's."""

    statement: str
    done: Callable[[Documents], bool]

    @property
    def of_products(self) -> bool:
        return " products " in self.statement


def has(order: str, **fields: Any) -> Callable[[Documents], bool]:
    """Whether the document of an order is there with certain values."""
    return lambda found: order in found and fields.items() <= found[order].items()


STEPS = (
    Step(
        "INSERT INTO orders VALUES (10004, '2024-07-30 15:22:00', 'Dan', 29.71, 104)",
        has("10004", product_name="hammer"),
    ),
    Step("INSERT INTO shipments VALUES (4, 10004, 'Ulm', 'Jena', false)", has("10004", shipment_id=4)),
    Step("UPDATE shipments SET is_arrived = true WHERE shipment_id = 1", has("10001", is_arrived=True)),
    Step("UPDATE products SET name = 'mallet' WHERE id = 104", has("10004", product_name="mallet")),
    Step("DELETE FROM products WHERE id = 106", has("10003", product_name=None)),
    Step("DELETE FROM orders WHERE order_id = 10004", lambda found: "10004" not in found),
)


def connected(mariadb: MariaDB) -> Any:
    where = {"host": "127.0.0.1", "port": mariadb.port, "database": mariadb.database}
    return pymysql.connect(user=mariadb.user, password=mariadb.password, autocommit=True, **where)


def fill(postgres: Any, mariadb: Any) -> None:
    """:param postgres: a connection, as ``mariadb`` is."""
    postgres.execute(ORDERS)
    with mariadb.cursor() as cursor:
        for statement in PRODUCTS:
            cursor.execute(statement)


def take(step: Step, postgres: Any, mariadb: Any) -> None:
    if step.of_products:
        with mariadb.cursor() as cursor:
            cursor.execute(step.statement)
    else:
        postgres.execute(step.statement)


def statements(
    postgres: PostgreSQL, mariadb: MariaDB, search: str, schema: str = "public", index: str = INDEX, slots: str = ""
) -> StatementSet:
    """The query, to be executed. :param search: URL of the index's server. :param slots: before the names of slots."""
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set("parallelism.default", "2")
    captured = POSTGRES.format(server=postgres, schema=schema)
    tables = TABLES.format(postgres=captured, mariadb=mariadb, search=search, index=index, slots=slots)
    for statement in tables.split(";"):
        environment.execute_sql(statement)
    made = environment.create_statement_set()
    made.add_insert_sql(QUERY)
    return made


def documents(search: str, index: str = INDEX) -> Documents:
    """What an index has, by the ids."""
    with httpx.Client(base_url=search, trust_env=False, timeout=60) as client:
        if client.post(f"/{index}/_refresh").status_code == httpx.codes.NOT_FOUND:
            return {}
        answer = client.post(f"/{index}/_search", json={"size": 1000}).raise_for_status()
    return {each["_id"]: each["_source"] for each in answer.json()["hits"]["hits"]}


def complete(found: Documents) -> bool:
    """Whether the orders that were there at first have all that belongs to them."""
    return len(found) == 3 and all(each["product_name"] and each["shipment_id"] for each in found.values())


def wait(search: str, done: Callable[[Documents], bool]) -> Documents:
    until = time.monotonic() + SECONDS
    while not done(found := documents(search)):
        if time.monotonic() > until:
            raise TimeoutError(f"the index has not changed within {SECONDS:g} s: {found}")
        time.sleep(0.1)
    return found


def show(found: Documents) -> None:
    table = Table(*FIELDS.values(), header_style="bold")
    for _, each in sorted(found.items()):
        table.add_row(*("" if each[field] is None else str(each[field]) for field in FIELDS))
    console.print(table)


def main() -> int:
    console.print("Starting PostgreSQL, MariaDB and OpenSearch. Jars (53 MB) come from Maven Central the first time.")
    with ExitStack() as stack:
        try:
            postgres = stack.enter_context(PostgreSQL({"max_slot_wal_keep_size": "1GB"}))
            mariadb = stack.enter_context(MariaDB())
            search = stack.enter_context(OpenSearch())
        except ServiceUnavailable as error:
            console.print(str(error))
            return 1
        orders = stack.enter_context(psycopg.connect(postgres.url, autocommit=True))
        products = stack.enter_context(connected(mariadb))
        fill(orders, products)
        console.print("The query, which runs until it is cancelled:")
        console.print(QUERY, style="dim")
        client = statements(postgres, mariadb, search.url).execute().get_job_client()
        assert client is not None
        show(wait(search.url, complete))
        for step in STEPS:
            console.print(step.statement, style="bold")
            began = time.monotonic()
            take(step, orders, products)
            found = wait(search.url, step.done)
            console.print(f"In the index after {time.monotonic() - began:.1f} s:")
            show(found)
        client.cancel().result()
    return 0


if __name__ == "__main__":
    sys.exit(main())
