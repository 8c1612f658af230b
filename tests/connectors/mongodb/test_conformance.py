"""What a table with a key writes passes the kit for connectors: whatever dies, nothing is lost, and repeating it
changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.connectors.mongodb.conftest import Collections
from tests.connectors.stores.as_rows import AsRows
from tests.connectors.stores.checks import chosen_checks

from millrace.common.sink import Sink
from millrace.connectors.mongodb.mongodb_collection import Collection, MongoChanges
from millrace.connectors.stores import BufferedSink, Buffering
from millrace.relational.rex import Field
from millrace.relational.types import string
from millrace.testing import Check
from millrace.testing.connectors import SinkUnderTest

PLACES: list[Collections] = []
"""the one that is tested: checks are listed before it is there"""


@pytest.fixture(autouse=True)
def chosen(collections: Collections) -> Iterator[None]:
    PLACES.append(collections)
    yield
    PLACES.clear()


class Written(SinkUnderTest):
    exactly_once = False  # what no checkpoint covers is seen before
    seen_after_ms = 1_000

    def __init__(self) -> None:
        (self.place,) = PLACES
        self.name = self.place.create()

    def sink(self) -> Sink[Any]:
        collection = Collection(self.place.uri, "shop", self.name)
        changes = MongoChanges(collection, (Field("_id", string()),), ("_id",))
        return AsRows(BufferedSink(collection, changes, Buffering(max_rows=3), len))

    def written(self) -> Sequence[str]:
        return [each["_id"] for each in self.place.all(self.name)]

    def close(self) -> None:
        self.place.database.drop_collection(self.name)


@pytest.mark.services
@pytest.mark.parametrize("check", chosen_checks(Written), ids=str)
def test_a_table_with_a_key(check: Check) -> None:
    check()
