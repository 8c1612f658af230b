"""Names that are imported late, and names that say clearly that they are not there."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest

from millrace.util.not_yet import lazy_names, not_yet

# Of the __all__ of PyFlink 2.3.0's modules, what is not there.
PYFLINK = {
    "datastream.connectors.cassandra": "MapperOptions",
    "datastream.connectors.pulsar": """PulsarSource PulsarSourceBuilder StartCursor StopCursor RangeGenerator PulsarSink
        PulsarSinkBuilder MessageDelayer TopicRoutingMode""",
    "table.catalog": "HiveCatalog",
    "table.module": "HiveModule",
}
NAMES = [(module, name) for module, names in PYFLINK.items() for name in names.split()]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_name_that_is_not_there_says_so(module: str, name: str) -> None:
    imported = getattr(importlib.import_module(f"millrace.{module}"), name)
    refusal = rf"^pyflink\.{module}\.{name} is not in Millrace yet; n"
    for use in (imported, lambda: imported.builder):
        with pytest.raises(NotImplementedError, match=refusal):
            use()


def test_importing_works_and_using_shows_the_text_to_the_user() -> None:
    from millrace.datastream.connectors.pulsar import PulsarSink

    with pytest.raises(NotImplementedError) as caught:
        PulsarSink.builder()
    assert str(caught.value) == (
        "pyflink.datastream.connectors.pulsar.PulsarSink is not in Millrace yet; "
        "nearest: a sink written in Python (millrace.common.sink.Sink)"
    )
    assert str(not_yet("pyflink.x.Y", "Z")) == "pyflink.x.Y is not in Millrace yet; nearest: Z"


def test_other_names_are_ordinary_attribute_errors() -> None:
    pulsar = importlib.import_module("millrace.datastream.connectors.pulsar")
    with pytest.raises(
        AttributeError, match=r"module 'millrace.datastream.connectors.pulsar' has no attribute 'Pulse'"
    ):
        pulsar.Pulse  # noqa: B018
    assert not hasattr(pulsar, "__wrapped__")
    with pytest.raises(ImportError):
        from millrace.datastream.connectors.pulsar import Pulse  # noqa: F401


def test_a_name_is_imported_once_also_under_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("millrace.toy")
    monkeypatch.setitem(sys.modules, "millrace.toy", module)
    monkeypatch.setitem(
        module.__dict__, "__getattr__", lazy_names("millrace.toy", {"Row": "common.types", "Line": "common.types:Row"})
    )
    from millrace.common.types import Row

    assert module.Row is module.Line is Row
    assert module.__dict__["Line"] is Row
