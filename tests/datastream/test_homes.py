"""Names that packages hand on when they are first asked for lead to a module that has them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import pytest

from millrace import datastream, table
from millrace.datastream import connectors, data_stream
from millrace.metrics.reporters import scheduling

HOMES: list[tuple[str, Mapping[str, str]]] = [
    ("millrace.datastream", datastream._HOMES),
    ("millrace.datastream", data_stream._ELSEWHERE),
    ("millrace.datastream.connectors", connectors._ELSEWHERE),
    ("millrace.table", table._HOMES),
]


@pytest.mark.parametrize(("package", "homes"), HOMES)
def test_each_name_is_in_its_home(package: str, homes: Mapping[str, str]) -> None:
    missing = [name for name, home in homes.items() if not hasattr(import_module(f"{package}.{home}"), name)]
    assert missing == []


@pytest.mark.parametrize("name", scheduling._OURS)
def test_each_reporter_of_flink_has_a_class(name: str) -> None:
    assert scheduling.reporter_class(f"org.apache.flink.metrics.{name}Factory")
