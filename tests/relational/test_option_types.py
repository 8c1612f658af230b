"""Numbers, spans and sizes of options: what their types take."""

from __future__ import annotations

import pytest
from scripts.reference.connectors.meanings import _known

from millrace.common.configuration import to_bytes_count, to_duration
from millrace.connectors.tables.store_table import StoreOptions
from millrace.connectors.tables.table_options import TableOptions
from millrace.relational import types as t
from millrace.relational.rex import Field
from millrace.relational.sources import LONGS, TableContext, whole_number
from millrace.util.exceptions import TableException

NOW = 1_764_450_000_000
"""ms since 1970, as any time of these years"""

FLINK_LONGS = (
    "scan.startup.timestamp-millis", "scan.bounded.timestamp-millis", "scan.startup.specific-offset.pos",
    "scan.partition.lower-bound", "scan.partition.upper-bound", "lookup.partial-cache.max-rows",
    "lookup.cache.max-rows", "sink.flush-buffer.size", "sink.flush-buffer.timeout", "number-of-rows", "rows-per-second",
)  # fmt: skip
"""what has ``longType()`` in KafkaConnectorOptions, JdbcConnectorOptions, LookupOptions, AsyncSinkConnectorOptions,
DataGenConnectorOptions and MySqlSourceOptions"""


def table(**options: str) -> TableContext:
    columns = (Field("id", t.BigIntType()),)
    return TableContext(("c", "d", "t"), columns, options={k.replace("__", "."): v for k, v in options.items()})


@pytest.mark.parametrize("name", FLINK_LONGS)
def test_longs_of_flink_have_64_bits(name: str) -> None:
    for number in (NOW, 2**63 - 1, -(2**63)):
        assert whole_number(name, str(number)) == number
    with pytest.raises(ValueError, match="out of range"):
        whole_number(name, str(2**63))


def test_other_numbers_have_32_bits() -> None:
    assert whole_number("sink.parallelism", str(2**31 - 1)) == 2**31 - 1
    with pytest.raises(TableException, match=r"table c\.d\.t: 'sink.parallelism': out of range .* to 2147483647"):
        TableOptions(table(sink__parallelism=str(2**31))).number("sink.parallelism")
    with pytest.raises(TableException, match=r"'port': not a whole number: '80\.5'"):
        TableOptions(table(port="80.5")).number("port")


def test_the_reference_says_which_are_long() -> None:
    kinds = {option: meaning.kind for (_, option), meaning in _known().items() if meaning.kind in ("number", "long")}
    assert {option for option, kind in kinds.items() if kind == "long"} == {each for each in LONGS if each in kinds}


def test_parts_of_a_table_by_a_time_in_ms() -> None:
    found = StoreOptions(
        table(
            **{
                "scan__partition__column": "id",
                "scan__partition__num": "3",
                "scan__partition__lower-bound": str(NOW),
                "scan__partition__upper-bound": str(NOW + 8),
            }
        )
    ).partitions
    assert found is not None
    assert found.conditions("id") == [
        f"id BETWEEN {NOW} AND {NOW + 2}",
        f"id BETWEEN {NOW + 3} AND {NOW + 5}",
        f"id BETWEEN {NOW + 6} AND {NOW + 8}",
    ]


def test_spans_and_sizes_have_64_bits() -> None:
    assert to_duration(f"{2**63 - 1} ms").to_millis() == 2**63 - 1
    assert to_bytes_count(f"{2**63 - 1}") == 2**63 - 1
    with pytest.raises(ValueError, match="longer than 9223372036854775807 ms: '106751991168 d'"):
        to_duration("106751991168 d")
    with pytest.raises(ValueError, match="longer than"):
        to_duration("P106751991168D")
    with pytest.raises(ValueError, match="more than 9223372036854775807 bytes: '8388608 t'"):
        to_bytes_count("8388608 t")
