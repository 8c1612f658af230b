"""Names of indexes and ids of documents, and options that cannot be."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from tests.connectors.search.indexes import SearchTables

from millrace.connectors.search.search_documents import index_name, key_texts
from millrace.relational.rex import Field
from millrace.relational.types import (
    BigIntType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    string,
)
from millrace.relational.values import to_arrow
from millrace.util.exceptions import TableException

COLUMNS = (
    Field("name", string()),
    Field("n", BigIntType()),
    Field("ts", TimestampType(3)),
    Field("z", LocalZonedTimestampType(3)),
    Field("day", DateType()),
    Field("at", TimeType(0)),
    Field("d", DoubleType()),
)
VALUES: tuple[Any, ...] = (
    "x",
    7,
    dt.datetime(2024, 3, 1, 23, 5, 6, 789000),
    dt.datetime(2024, 3, 1, 23, 5, 6, tzinfo=dt.timezone.utc),
    dt.date(2024, 3, 1),
    dt.time(4, 5, 6),
    1.5,
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain", "plain"),
        ("i-{name}", "i-x"),
        ("{n}", "7"),
        ("i-{ts|yyyy-MM-dd}", "i-2024-03-01"),
        ("i-{ts|yyyy.MM.dd-HHmm}-{name}", "i-2024.03.01-2305-x"),
        ("{ts|yyyy-'w'SSS}", "2024-w789"),
        ("i{ts}", "i2024_03_01_23_05_06"),
        ("i{ts|}", "i2024_03_01_23_05_06"),
        ("{z|yyyy-MM-dd}", "2024-03-02"),  # in the zone of the session
        ("{day|yyyy}-{day}", "2024-2024_03_01"),
        ("{at}", "04_05_06"),
        ("{d}", "1.5"),
    ],
)
def test_names_of_indexes(text: str, wanted: str) -> None:
    name = index_name(text, COLUMNS, "Asia/Shanghai", "t")
    columns = [to_arrow([value], column.type) for value, column in zip(VALUES, COLUMNS)]
    assert name.texts(columns, 1).to_pylist() == [wanted]
    assert (name.fixed == wanted) == ("{" not in text)
    assert not name.of_clock


def test_names_of_what_is_not_known() -> None:
    columns = [to_arrow([None, value], column.type) for value, column in zip(VALUES, COLUMNS)]
    for text, wanted in (("i-{ts|yyyy}", ["i-null", "i-2024"]), ("{name}-{n}", ["null-null", "x-7"])):
        assert index_name(text, COLUMNS, "UTC", "t").texts(columns, 2).to_pylist() == wanted


@pytest.mark.parametrize("text", ["i-{now()|yyyy}", "i-{NOW()|yyyy}", "i-{current_timestamp|yyyy}"])
def test_names_by_the_clock(text: str) -> None:
    name = index_name(text, COLUMNS, "UTC", "t")
    before = dt.datetime.now(dt.timezone.utc).year
    (found,) = name.texts([], 1).to_pylist()
    assert found in (f"i-{before}", f"i-{before + 1}")
    assert name.of_clock and name.fixed is None and name.pattern == "i-*"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'index' is a name"),
        ("i-{name", "'index' is a name"),
        ("i-{nam}", "names the column 'nam', which is not there, did you mean 'name'"),
        ("i-{n|yyyy}", "a BIGINT is no time"),
        ("i-{ts|bbbb}", "'index': "),
    ],
)
def test_names_that_cannot_be(text: str, said: str) -> None:
    with pytest.raises(TableException, match=said.replace("(", r"\(")):
        index_name(text, COLUMNS, "UTC", "t")


@pytest.mark.parametrize(
    ("value", "kind", "wanted"),
    [
        (True, BooleanType(), "true"),
        (Decimal("1.50"), DecimalType(5, 2), "1.50"),
        (Decimal("0.0000001"), DecimalType(10, 7), "0.0000001"),
        (1e10, DoubleType(), "1.0E10"),
        (dt.date(2024, 3, 1), DateType(), "2024-03-01"),
        (dt.time(4, 5), TimeType(0), "04:05"),
        (dt.datetime(2024, 3, 1), TimestampType(3), "2024-03-01T00:00"),
        (dt.datetime(2024, 3, 1, 4, 5, 6), TimestampType(3), "2024-03-01T04:05:06"),
        (dt.datetime(2024, 3, 1, 4, 5, 6, 700000), TimestampType(3), "2024-03-01T04:05:06.700"),
        (dt.datetime(2024, 3, 1, 4, 5, 6, 700001), TimestampType(6), "2024-03-01T04:05:06.700001"),
        (dt.datetime(2024, 3, 1, tzinfo=dt.timezone.utc), LocalZonedTimestampType(3), "2024-03-01T00:00"),
        (None, DateType(), None),
    ],
)
def test_texts_are_those_of_java(value: Any, kind: DataType, wanted: str | None) -> None:
    assert key_texts(to_arrow([value], kind), kind).to_pylist() == [wanted]


KEYED = "id BIGINT, v INT, PRIMARY KEY (id) NOT ENFORCED"
PLAIN = "id BIGINT, v INT"


@pytest.mark.parametrize(
    ("options", "columns", "said"),
    [
        ({"hosts": "ftp://a"}, PLAIN, "'hosts': a host is written http"),
        ({"hosts": "http://u:Pass-Word-1234@a"}, PLAIN, "'hosts': user and password do not belong into the URL"),
        ({"username": "u"}, PLAIN, "'username' and 'password' belong together"),
        ({"connection.api-key": "k", "connection.bearer-token": "t"}, PLAIN, "there can be one"),
        ({"format": "csv"}, PLAIN, "'format' is one of json, not 'csv'"),
        ({"sink.bulk-flush.backoff.strategy": "often"}, PLAIN, "is one of DISABLED, CONSTANT, EXPONENTIAL"),
        ({"sink.bulk-flush.max-actions": "-1"}, PLAIN, "'sink.bulk-flush.max-actions' is not negative"),
        ({"sink.delivery-guarantee": "exactly-once"}, PLAIN, "is one of at-least-once, none"),
        ({"failure-handler": "sometimes"}, PLAIN, "a failure handler is fail, ignore, retry-rejected"),
        ({"sink.version": "external"}, PLAIN, "'sink.version' is for tables with a PRIMARY KEY"),
        ({"sink.version.column": "w"}, KEYED, "'sink.version.column' is a column of whole numbers or times"),
        ({"sink.version.column": "v", "sink.version": "none"}, KEYED, "'sink.version' is 'external' for"),
        ({"document-type": "user"}, PLAIN, "'document-type' is gone from these servers"),
        ({"sink.bulk-flush.max-action": "5"}, PLAIN, "has no option 'sink.bulk-flush.max-action', did you mean"),
        ({"connector": "elasticsearch-6"}, PLAIN, "use 'elasticsearch-7' or 'elasticsearch-8'"),
        ({}, "id BYTES NOT NULL, PRIMARY KEY (id) NOT ENFORCED", "column 'id': a BYTES NOT NULL cannot be part of"),
        ({"index": "i-{now()|yyyy}"}, KEYED, "updates"),
    ],
)
def test_options_that_cannot_be(options: dict[str, str], columns: str, said: str) -> None:
    tables = SearchTables()
    given = {"hosts": "http://a", "index": "i", "connector": "opensearch", **options}
    connector, hosts, index = (given.pop(name) for name in ("connector", "hosts", "index"))
    select = "SELECT x'00'" if "BYTES" in columns else "SELECT k, CAST(COUNT(*) AS INT) FROM (VALUES (1)) AS t(k)"

    def run() -> None:
        name = tables.over((connector, hosts), index, columns, **given)
        tables.insert(f"INSERT INTO {name} {select}" + ("" if "BYTES" in columns else " GROUP BY k"))

    with pytest.raises(Exception, match=said) as caught:
        run()
    assert "Pass-Word-1234" not in str(caught.value)


def test_what_could_be_in_any_index_is_not_read() -> None:
    tables = SearchTables()
    name = tables.over(("opensearch", "http://a"), "{v}", "id BIGINT, v STRING")
    with pytest.raises(TableException, match=r"'index' = '\{v\}' could be any"):
        tables.query(f"SELECT * FROM {name}")
