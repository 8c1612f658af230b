"""A connector whose package is not installed is found before a job starts."""

from __future__ import annotations

import sys

import pytest

from millrace.common import WatermarkStrategy
from millrace.common.serialization import SimpleStringSchema
from millrace.connectors import extras
from millrace.connectors.extras import missing_extra
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.kafka import KafkaSource


def source() -> KafkaSource:
    builder = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:1").set_topics("orders")
    return builder.set_value_only_deserializer(SimpleStringSchema()).build()


def test_what_is_installed_is_not_missing() -> None:
    assert missing_extra(source()) is None
    assert missing_extra("text") is None


def test_the_error_names_the_operator_its_line_and_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    """And comes alone, without the tracebacks of those that looked for it."""
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(source(), WatermarkStrategy.no_watermarks(), "orders")
    stream.print()
    monkeypatch.setattr(env, "_is_elsewhere", lambda: False)
    with pytest.raises(ImportError) as raised:
        env._prepare("job")
    assert str(raised.value).endswith(
        " needs confluent-kafka, which is not installed: pip install 'millrace-streaming[kafka]'"
    )
    assert "operator 'Source: orders', made at " in str(raised.value) and __file__ in str(raised.value)
    assert raised.value.__cause__ is None and raised.value.__context__ is None


def test_a_source_within_another_one_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    class Around:
        def __init__(self) -> None:
            self.inner = source()

    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    assert "confluent-kafka" in (missing_extra(Around()) or "")


@pytest.mark.parametrize("name", extras._NEEDED)
def test_each_is_the_name_of_a_folder_and_an_extra(name: str) -> None:
    from importlib.util import find_spec
    from pathlib import Path

    assert find_spec(f"millrace.connectors.{name}") is not None
    project = Path(__file__).parents[2] / "pyproject.toml"
    assert f"\n{name} = [" in project.read_text()
