"""Values of partitions as names of folders."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.connectors.file_system.table.table_layout import (
    DEFAULT_NAME,
    check_partition_types,
    escaped,
    folder_of,
    partition_values,
    text_of,
    texts_of,
    value_of,
)
from millrace.relational.nodes import Field
from millrace.table import DataTypes as D
from millrace.util.exceptions import TableException

UTC = dt.timezone.utc
# The texts are those of Java's toString.
VALUES = [
    (D.STRING(), "a b/c=1%", "a b/c=1%"),
    (D.BOOLEAN(), True, "true"),
    (D.INT(), -7, "-7"),
    (D.BIGINT(), 2**62, "4611686018427387904"),
    (D.DOUBLE(), 1e10, "1.0E10"),
    (D.DOUBLE(), 0.10000000149011612, "0.10000000149011612"),
    (D.DECIMAL(8, 2), Decimal("10.50"), "10.50"),
    (D.DATE(), dt.date(2024, 5, 6), "2024-05-06"),
    (D.TIME(3), dt.time(10, 0), "10:00"),
    (D.TIMESTAMP(3), dt.datetime(2024, 5, 6, 10, 0), "2024-05-06T10:00"),
    (D.TIMESTAMP(3), dt.datetime(2024, 5, 6, 10, 0, 1, 500_000), "2024-05-06T10:00:01.500"),
    (D.TIMESTAMP_LTZ(3), dt.datetime(2024, 5, 6, 10, 0, tzinfo=UTC), "2024-05-06T10:00:00Z"),
    (D.STRING(), None, DEFAULT_NAME),
]


@pytest.mark.parametrize(("kind", "value", "text"), VALUES, ids=[str(each[2]) for each in VALUES])
def test_values_and_their_texts(kind: Any, value: Any, text: str) -> None:
    assert text_of(value, kind, DEFAULT_NAME) == text
    assert value_of(text, kind, DEFAULT_NAME) == value


def test_a_float_has_the_digits_that_tell_it_apart() -> None:
    assert text_of(0.10000000149011612, D.FLOAT(), DEFAULT_NAME) == "0.1"


def test_the_empty_text_is_written_as_null_as_in_flink() -> None:
    assert text_of("", D.STRING(), DEFAULT_NAME) == DEFAULT_NAME


def test_characters_that_paths_cannot_have() -> None:
    assert escaped("10:30/x=100%?\n") == "10%3A30%2Fx%3D100%25%3F%0A"
    assert folder_of(["dt", "a/b"], ["2024-05-06", "x y"]) == "dt=2024-05-06/a%2Fb=x y"


@given(st.dictionaries(st.text(min_size=1, max_size=5), st.text(max_size=8), min_size=1, max_size=3))
def test_property_every_text_survives_its_path(texts: dict[str, str]) -> None:
    folder = folder_of(list(texts), list(texts.values()))
    assert len(folder.split("/")) == len(texts)
    assert texts_of(folder) == texts


def test_values_of_a_file() -> None:
    columns = (Field("hr", D.INT()), Field("dt", D.DATE()))
    assert partition_values("/x/hr=9/base/dt=2024-05-06/hr=10/f", columns, DEFAULT_NAME, "t") == [
        10,
        dt.date(2024, 5, 6),
    ]
    with pytest.raises(ValueError, match=r"table t: /x/hr=1/f lies in no folder dt="):
        partition_values("/x/hr=1/f", columns, DEFAULT_NAME, "t")
    with pytest.raises(ValueError, match=r"partition column 'hr': cannot read 'ten' as INT"):
        partition_values("/x/dt=2024-05-06/hr=ten/f", columns, DEFAULT_NAME, "t")


def test_types_that_are_no_names() -> None:
    with pytest.raises(TableException, match="cannot be partitioned by 'tags' of type ARRAY"):
        check_partition_types((Field("tags", D.ARRAY(D.INT())),), "t")
