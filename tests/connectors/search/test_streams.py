"""PyFlink's sinks of DataStreams: what becomes of elements, and what is in the index."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from tests.connectors.search.fake import PRODUCT, done, serving
from tests.connectors.search.indexes import Indexes

from millrace.common.types import Row, RowKind
from millrace.connectors.search.search_builders import (
    Action,
    Create,
    Delete,
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    Elasticsearch8SinkBuilder,
    ElasticsearchEmitter,
    ElasticsearchSinkBuilderBase,
    FieldEmitter,
    FlushBackoffType,
    Index,
    OpensearchSinkBuilder,
    Update,
    lines,
    without_repetition,
)
from millrace.connectors.sink_base import DeliveryGuarantee
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_locally

BUILDERS: dict[str, type[ElasticsearchSinkBuilderBase]] = {
    "opensearch": OpensearchSinkBuilder,
    "elasticsearch-7": Elasticsearch7SinkBuilder,
}


def run(elements: list[Any], builder: ElasticsearchSinkBuilderBase, parallelism: int = 2) -> None:
    environment = StreamExecutionEnvironment().set_parallelism(parallelism)
    environment.from_collection(elements).key_by(str).sink_to(builder.build())
    run_locally(environment)


def test_one_index(indexes: Indexes) -> None:
    keyed, plain = indexes.new(), indexes.new()
    elements = [{"id": number, "name": f"n{number}"} for number in range(25)]
    for index, key in ((keyed, "id"), (plain, None)):
        builder = BUILDERS[indexes.connector]().set_hosts(indexes.url.removeprefix("http://"))
        builder.set_emitter(ElasticsearchEmitter.static_index(index, key)).set_bulk_flush_max_actions(4)
        run(elements, builder)
    assert indexes.documents(keyed) == {str(each["id"]): each for each in elements}
    assert sorted((each["_source"]["id"], len(each["_id"]) > 10) for each in indexes.hits(plain)) == [
        (number, True) for number in range(25)
    ]


def test_several_indexes_and_deletions(indexes: Indexes) -> None:
    one, other = indexes.new(), indexes.new()
    rows = [Row(at=at, id=id, v=v) for at, id, v in ((one, 1, "a"), (other, 2, "b"), (one, 3, "c"))]
    gone = Row(at=one, id=1, v="a")
    gone.set_row_kind(RowKind.DELETE)
    builder = BUILDERS[indexes.connector]().set_hosts([indexes.url])
    run([*rows, gone], builder.set_emitter(ElasticsearchEmitter.dynamic_index("at", "id")), 1)
    assert indexes.documents(one) == {"3": {"at": one, "id": 3, "v": "c"}}
    assert indexes.documents(other) == {"2": {"at": other, "id": 2, "v": "b"}}


def test_a_function_of_ones_own(indexes: Indexes) -> None:
    index = indexes.new()

    def emit(element: int) -> Iterable[Action] | None:
        if element % 2:
            return None
        moment = datetime(2024, 1, 1, element)
        yield Index(index, {"n": element, "at": moment, "d": Decimal("1.50"), "r": Row(x=1)}, f"i{element}")
        yield Update(index, f'{{"n":\n{element + 1}}}', f"i{element}")
        yield Delete(index, "i4")

    builder = BUILDERS[indexes.connector]().set_hosts(indexes.url).set_emitter(emit)
    run([0, 1, 2, 4], builder, 1)
    rest = {"d": "1.50", "r": {"x": 1}}
    assert indexes.documents(index) == {
        "i0": {"n": 1, "at": "2024-01-01T00:00:00", **rest},
        "i2": {"n": 3, "at": "2024-01-01T02:00:00", **rest},
    }


def test_elasticsearch_8() -> None:
    """On a stand-in that answers as one was recorded to."""
    with serving("elasticsearch-8", done, PRODUCT) as fake:
        builder = Elasticsearch8SinkBuilder().set_hosts(fake.url).set_api_key("a-key")
        run([{"id": 1}], builder.set_emitter(ElasticsearchEmitter.static_index("i", "id")))
        (bulk,) = fake.bulks
    assert bulk.headers["Authorization"] == "ApiKey a-key"
    assert bulk.headers["Content-Type"] == "application/vnd.elasticsearch+x-ndjson; compatible-with=8"
    assert bulk.lines == [
        {"update": {"_index": "i", "_id": "1", "retry_on_conflict": 3}},
        {"doc": {"id": 1}, "doc_as_upsert": True},
    ]


def parts(*actions: Action) -> list[list[str]]:
    encode = msgspec.json.Encoder().encode
    return [[lines(action, encode).decode() for action in part] for part in without_repetition(actions)]


A1, A2 = Index("i", {"a": 1}, "1"), Index("i", {"a": 2}, "1")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ((A1, A2), [[A2]]),
        ((A1, Delete("i", "1")), [[Delete("i", "1")]]),
        ((Delete("i", "1"), A1), [[A1]]),
        ((A1, Index("other", {}, "1")), [[A1, Index("other", {}, "1")]]),
        ((Create("i", {"a": 1}), Create("i", {"a": 1})), [[Create("i", {"a": 1}), Create("i", {"a": 1})]]),
        ((Create("i", {}, "1"), A1), [[Create("i", {}, "1")], [A1]]),
        ((A1, Index("i", {}, "1", 7)), [[A1], [Index("i", {}, "1", 7)]]),
        (
            (Update("i", {"a": {"x": 1}, "b": 1}, "1"), Update("i", {"a": {"y": 2}, "c": 3}, "1")),
            [[Update("i", {"a": {"x": 1, "y": 2}, "b": 1, "c": 3}, "1")]],
        ),
        ((A1, Update("i", {"b": 2}, "1")), [[Index("i", {"a": 1, "b": 2}, "1")]]),
        ((Delete("i", "1"), Update("i", {"b": 2}, "1")), [[Index("i", {"b": 2}, "1")]]),
        ((A1, Update("i", '{"b":2}', "1")), [[A1], [Update("i", '{"b":2}', "1")]]),
    ],
)
def test_no_document_occurs_twice_in_a_request(given: tuple[Action, ...], wanted: list[list[Action]]) -> None:
    encode = msgspec.json.Encoder().encode
    assert parts(*given) == [[lines(action, encode).decode() for action in part] for part in wanted]


@pytest.mark.parametrize(
    ("element", "said"),
    [
        ({"v": 1}, "'id' is missing or None"),
        ({"id": None}, "'id' is missing or None"),
        (Row(1, 2), "Row without names"),
        (5, "a document is a dict, or a Row with names, not 5"),
    ],
)
def test_elements_that_are_no_documents(element: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        FieldEmitter("i", "id")(element)


def test_what_cannot_be_built() -> None:
    emitter = ElasticsearchEmitter.static_index("i")
    with pytest.raises(NotImplementedError, match="OpensearchSinkBuilder"):
        Elasticsearch6SinkBuilder()
    with pytest.raises(ValueError, match="set_hosts"):
        Elasticsearch7SinkBuilder().set_emitter(emitter).build()
    with pytest.raises(ValueError, match="set_emitter"):
        Elasticsearch7SinkBuilder().set_hosts("a").build()
    with pytest.raises(ValueError, match="belong together"):
        Elasticsearch7SinkBuilder().set_hosts("a").set_emitter(emitter).set_connection_username("u").build()
    with pytest.raises(ValueError, match="no transactions"):
        Elasticsearch7SinkBuilder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    with pytest.raises(ValueError, match="retries are more than 0"):
        Elasticsearch7SinkBuilder().set_bulk_flush_backoff_strategy(FlushBackoffType.CONSTANT, 0, 1)
    with pytest.raises(ValueError, match="-1 for no limit, not -2"):
        Elasticsearch7SinkBuilder().set_bulk_flush_max_actions(-2)
    with pytest.raises(TypeError, match="no Java objects"):
        ElasticsearchEmitter("j_emitter")  # type: ignore[arg-type]
