"""Connectors of others: the nearest way, not a name that looks alike."""

from __future__ import annotations

import pytest

from millrace.table.sessions.table_info import NEAREST, factory_names, factory_of
from millrace.util.exceptions import TableException


@pytest.mark.parametrize("name", ["doris", "hive", "iceberg", "hudi", "paimon", "delta", "pulsar", "Doris"])
def test_the_nearest_way_is_said(name: str) -> None:
    with pytest.raises(TableException, match=f"there is no connector '{name}'; nearest: .*; there are") as caught:
        factory_of({"connector": name}, "t")
    assert "did you mean" not in str(caught.value)


def test_what_is_there_is_not_called_missing() -> None:
    assert not NEAREST.keys() & set(factory_names())


def test_every_way_names_connectors_that_are_there() -> None:
    for way in NEAREST.values():
        named = [part.partition("'")[0] for part in way.split("'connector' = '")[1:]]
        assert set(named) <= set(factory_names())
