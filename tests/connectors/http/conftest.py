"""Services and tables over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.connectors.http.service import Service
from tests.connectors.tables.message_tables import MessageTables

QUICK = {
    "http.source.lookup.retry-strategy.fixed-delay.delay": "1 ms",
    "http.sink.retry-strategy.fixed-delay.delay": "1 ms",
}


class HttpTables(MessageTables):
    """Tables of services; what is tried again is tried at once."""

    def over(self, name: str, columns: str, url: str, connector: str = "http", **options: str) -> None:
        lookup = connector in ("http", "rest-lookup")
        quick = {key: value for key, value in QUICK.items() if connector == "http" or lookup is ("lookup" in key)}
        given = {"connector": connector, "url": url, "format": "json", **quick, **options}
        texts = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
        self.environment.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({texts})")

    def joined(self, name: str, keys: list[Any], kind: str = "LEFT", what: str = "*", hint: str = "") -> list[Any]:
        """The keys with what the table has for them."""
        values = ", ".join(f"({each!r})" for each in keys)
        left = f"(SELECT k, PROCTIME() AS p FROM (VALUES {values}) AS t(k)) AS l"
        on = "FOR SYSTEM_TIME AS OF l.p AS r ON r.id = l.k"
        query = f"SELECT {hint} l.k, {what} FROM {left} {kind} JOIN {name} {on}"
        return sorted((tuple(row) for _, row in self.query(query)), key=repr)


@pytest.fixture
def tables() -> HttpTables:
    return HttpTables()


@pytest.fixture
def serve() -> Iterator[Callable[..., Service]]:
    made: list[Service] = []

    def start(answer: Callable[[Any], Any], context: Any = None) -> Service:
        made.append(Service(answer, context))
        return made[-1]

    yield start
    for each in made:
        each.close()
