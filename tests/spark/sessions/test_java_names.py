"""The driver asks its JVM once for a class, however often it is named."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from py4j import protocol
from py4j.java_gateway import GatewayClient, JavaClass, JavaPackage, JVMView
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from millrace.spark.sessions.java_names import KnownNames, java_class
from millrace.spark.tables.child_session import all_of, child_session, set_all

LOOK_UP = protocol.REFLECTION_COMMAND_NAME + protocol.REFL_GET_UNKNOWN_SUB_COMMAND_NAME


class Jvm:
    """Answers as py4j's server does: there is one class."""

    gateway_property = SimpleNamespace(pool=None)
    converters: tuple[Any, ...] = ()

    def __init__(self) -> None:
        self.asked: list[str] = []

    def send_command(self, command: str) -> str:
        name = command.removeprefix(LOOK_UP).partition("\n")[0]
        self.asked.append(name)
        if name == "java.util.Properties":
            return f"{protocol.SUCCESS_CLASS}java.util.Properties"
        return protocol.SUCCESS_PACKAGE if name.islower() else f"x{protocol.STRING_TYPE}no such class"


def view() -> tuple[Any, Jvm]:
    jvm = Jvm()
    return KnownNames(jvm, "default", "j"), jvm


def test_a_class_is_asked_for_once() -> None:
    names, jvm = view()
    first, second = (java_class(names, "java.util.Properties") for _ in range(2))
    assert isinstance(first, JavaClass)
    assert first is second
    assert jvm.asked == ["java.util.Properties"]


def test_what_may_become_a_class_is_asked_for_each_time() -> None:
    names, jvm = view()
    for _ in range(2):
        assert isinstance(names.java, JavaPackage)
        with pytest.raises(Py4JError, match="Missing does not exist in the JVM"):
            _ = names.Missing
    assert jvm.asked == ["java", "Missing"] * 2


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that the JVM was asked for."""
    found: list[str] = []
    send: Callable[..., str] = GatewayClient.send_command

    def sending(client: Any, command: str, *args: Any, **others: Any) -> str:
        if command.startswith(LOOK_UP):
            found.append(command.removeprefix(LOOK_UP).partition("\n")[0])
        return send(client, command, *args, **others)

    monkeypatch.setattr(GatewayClient, "send_command", sending)
    return found


def test_a_second_query_looks_for_no_class(spark: SparkSession, looked_up: list[str]) -> None:
    def answer() -> list[Any]:
        session = child_session(spark, "UTC", {"spark.sql.shuffle.partitions": "1"})
        rows: list[Any] = session.range(3).selectExpr("sum(id)").collect()
        return rows

    first = answer()
    looked_up.clear()
    assert answer() == first
    assert looked_up == []


def test_sessions_have_such_a_view_and_settings_arrive(spark: SparkSession) -> None:
    assert isinstance(spark._jvm, KnownNames)
    assert isinstance(spark._jvm, JVMView)
    session = child_session(spark)
    set_all(session, {"spark.sql.session.timeZone": "Asia/Tokyo"})
    assert all_of(session)["spark.sql.session.timeZone"] == "Asia/Tokyo"
