"""``MongoSource`` and ``MongoSink`` of DataStreams."""

from __future__ import annotations

import pickle
from typing import Any

import pymongo
import pytest
from tests.connectors.mongodb.conftest import Collections

from millrace.common import Types, WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors import DeliveryGuarantee
from millrace.datastream.connectors.mongodb import MongoDeserializationSchema, MongoSink, MongoSource, PartitionStrategy
from millrace.testing.local import run_locally


class Names(MongoDeserializationSchema):
    def deserialize(self, document: dict[str, Any]) -> Any:
        return document["name"]

    def get_produced_type(self) -> Any:
        return Types.STRING()


def read(collections: Collections, name: str) -> Any:
    return MongoSource.builder().set_uri(collections.uri).set_database("shop").set_collection(name)


def elements(source: MongoSource) -> list[Any]:
    env = StreamExecutionEnvironment().set_parallelism(2)
    return list(run_locally(env.from_source(source, WatermarkStrategy.no_watermarks(), "MongoDB")).collected)


def upsert(element: Any, context: Any) -> Any:
    if element[1] is None:
        return pymongo.DeleteOne({"_id": element[0]})
    return pymongo.ReplaceOne({"_id": element[0]}, {"name": element[1]}, upsert=True)


@pytest.mark.services
def test_a_sink(collections: Collections) -> None:
    name = collections.create({"_id": 9, "name": "old"})
    builder = MongoSink.builder().set_uri(collections.uri).set_database("shop").set_collection(name)
    sink = builder.set_serialization_schema(upsert).set_batch_size(2).set_batch_interval_ms(-1).build()
    env = StreamExecutionEnvironment()
    env.from_collection([(1, "a"), (2, "b"), (1, "c"), (9, None)]).sink_to(sink)
    run_locally(env)
    assert collections.all(name) == [{"_id": 1, "name": "c"}, {"_id": 2, "name": "b"}]


@pytest.mark.services
def test_documents_to_insert(collections: Collections) -> None:
    name = collections.create()
    builder = MongoSink.builder().set_uri(collections.uri).set_database("shop").set_collection(name)
    sink = builder.set_serialization_schema(lambda element, context: {"_id": element} if element else None).build()
    env = StreamExecutionEnvironment()
    env.from_collection([0, 1, 2]).sink_to(sink)
    run_locally(env)
    assert collections.all(name) == [{"_id": 1}, {"_id": 2}]


@pytest.mark.services
def test_a_source(collections: Collections) -> None:
    name = collections.create(*({"_id": number, "name": f"n{number}", "v": 0} for number in range(20)))
    cut = read(collections, name).set_partition_strategy(PartitionStrategy.SAMPLE).set_partition_size(200)
    source = cut.set_fetch_size(3).set_deserialization_schema(Names()).build()
    assert len(source.parts()) > 1
    assert sorted(elements(source)) == sorted(f"n{number}" for number in range(20))
    plain = read(collections, name).set_projected_fields("v").set_limit(5).build()
    assert elements(plain) == [{"v": 0}] * 5


def test_what_cannot_be() -> None:
    with pytest.raises(ValueError, match=r"a MongoSource needs set_uri"):
        MongoSource.builder().build()
    with pytest.raises(ValueError, match="needs set_serialization_schema"):
        MongoSink.builder().build()
    with pytest.raises(ValueError, match="writes at least once"):
        MongoSink.builder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    with pytest.raises(ValueError, match="batch size must be positive"):
        MongoSink.builder().set_batch_size(0)


def test_it_travels_without_showing_the_password() -> None:
    builder = MongoSource.builder().set_uri("mongodb://u:very-secret@h/?x=1").set_database("d").set_collection("c")
    source = pickle.loads(pickle.dumps(builder.build()))
    assert "very-secret" not in repr(source._collection)
    assert "very-secret" not in source._collection.place
    assert "h" in source._collection.place
