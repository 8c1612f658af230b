"""Formats by name, and their options."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.util.other_packages import other_package

from millrace.formats.tables import format_options
from millrace.formats.tables.raw_format import RawFormatFactory
from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.relational.sources import ALL_KINDS, INSERT_ONLY, FormatContext
from millrace.util.exceptions import TableException

OF_ROWS = ["avro", "csv", "json", "raw"]
OF_CHANGES = ["canal-json", "changelog-json", "debezium-json", "maxwell-json", "ogg-json"]
WITH_MORE = ["avro-confluent", "canal-protobuf", "debezium-avro-confluent", "json-confluent", "protobuf"]
"""which need a registry, or a class"""


@pytest.mark.parametrize("name", OF_ROWS + OF_CHANGES)
def test_every_format_is_there_and_can_be_sent_to_tasks(name: str) -> None:
    factory = format_options.format_factory(name, "t")
    assert factory.identifier == name
    context = FormatContext("t", (Field("a", t.string()),))
    for form in (factory.decoding(context), factory.encoding(context)):
        again: Any = pickle.loads(pickle.dumps(form))
        assert again.kinds == (ALL_KINDS if name in OF_CHANGES else INSERT_ONLY)


def test_names() -> None:
    assert format_options.format_names() == sorted(OF_ROWS + OF_CHANGES + WITH_MORE)
    names = "avro, avro-confluent, canal-json"
    with pytest.raises(TableException, match=rf"table t: there is no format 'jsn', did you mean 'json'.*{names}"):
        format_options.format_factory("jsn", "t")


class OtherFormatFactory(RawFormatFactory):
    identifier = "other"
    required = ("must",)
    optional = ("may", "properties.")


def test_formats_of_installed_packages(tmp_path: Path) -> None:
    with other_package(tmp_path, format_options.ENTRY_POINTS, "other", f"{__name__}:OtherFormatFactory"):
        assert "other" in format_options.format_names()
        assert format_options.format_factory("other", "t").identifier == "other"


def test_options() -> None:
    factory = OtherFormatFactory()
    given = {"connector": "x", "other.must": "1", "other.properties.a.b": "2", "value.other.must": "3", "json.a": "4"}
    assert format_options.format_options(factory, "other", given) == {"must": "1", "properties.a.b": "2"}
    assert format_options.format_options(factory, "value.other", given) == {"must": "3"}
    with pytest.raises(TableException, match=r"table t: format 'other' needs key.other.must"):
        format_options.format_options(factory, "key.other", given, "t")
    with pytest.raises(
        TableException, match=r"no option 'other.mus', did you mean 'other.must'\?; it has other.may, other.must"
    ):
        format_options.format_options(factory, "other", {**given, "other.mus": "1"})
