"""The gateway without a JVM: what stands in for classes of Java, and the error for all others."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment
from millrace.standins.java_gateway import NoJavaError
from millrace.table import DataTypes, Module, StreamTableEnvironment, TableSchema
from millrace.table.catalog import Catalog, CatalogBaseTable, CatalogDatabase, GenericInMemoryCatalog, ObjectPath
from millrace.util.exceptions import DatabaseAlreadyExistException


def jvm() -> Any:
    return import_module("pyflink.java_gateway").get_gateway().jvm


def utils() -> Any:
    return import_module("pyflink.util.java_utils")


@pytest.mark.parametrize("full", [True, False])
def test_a_catalog_of_java_is_ours(full: bool) -> None:
    java = jvm().org.apache.flink.table.catalog.GenericInMemoryCatalog if full else jvm().GenericInMemoryCatalog
    catalog = Catalog(java("mine"))
    assert isinstance(catalog, Catalog)
    catalog.create_database("db", CatalogDatabase.create_instance({"k": "v"}, "text"), False)
    assert sorted(catalog.list_databases()) == ["db", "default"]
    assert catalog.get_database("db").get_properties() == {"k": "v"}
    with pytest.raises(DatabaseAlreadyExistException):
        catalog.create_database("db", CatalogDatabase.create_instance({}), False)
    schema = TableSchema(["a"], [DataTypes.INT()])
    catalog.create_table(ObjectPath("db", "t"), CatalogBaseTable.create_table(schema, properties={"x": "y"}), False)
    assert catalog.list_tables("db") == ["t"]


def test_a_wrapped_catalog_is_the_one_that_it_wraps() -> None:
    inner = GenericInMemoryCatalog("inner")
    Catalog(inner).create_database("seen", CatalogDatabase.create_instance({}), False)
    assert inner.database_exists("seen")
    t_env = StreamTableEnvironment.create(StreamExecutionEnvironment())
    t_env.register_catalog("c", Catalog(inner))
    t_env.use_catalog("c")
    assert "seen" in t_env.list_databases()


def test_only_a_catalog_can_be_wrapped() -> None:
    with pytest.raises(TypeError, match="takes nothing, or another Catalog, not 3"):
        Catalog(3)  # type: ignore[call-arg]

    class Own(Catalog): ...

    with pytest.raises(TypeError, match=r"Own\(\) takes no arguments"):
        Own(GenericInMemoryCatalog("x"))  # type: ignore[call-arg]


def test_the_core_module() -> None:
    module = Module(jvm().org.apache.flink.table.module.CoreModule.INSTANCE)  # type: ignore[call-arg]
    assert "CONCAT" in module.list_functions()


@pytest.mark.parametrize(
    ("ask", "name"),
    [
        (lambda: jvm().org.apache.flink.Nothing, "org.apache.flink.Nothing"),
        (lambda: jvm().Nothing, "Nothing"),
        (lambda: jvm().org.apache.flink(), "org.apache.flink"),
        (lambda: utils().load_java_class("a.B"), "a.B"),
        (lambda: utils().is_instance_of(1, "a.B"), "a.B"),
        (lambda: utils().invoke_method(1, "java.lang.Thread", "run"), r"java.lang.Thread.run\(\)"),
        (lambda: utils().get_field_value(1, "f"), "the field f of int"),
        (lambda: utils().add_jars_to_context_class_loader(["file:/a.jar"]), "what is in file:/a.jar"),
        (lambda: import_module("pyflink.find_flink_home")._find_flink_source_root(), "the folder of Flink's sources"),
    ],
)
def test_what_nothing_stands_in_for_is_named(ask: Any, name: str) -> None:
    with pytest.raises(NoJavaError, match=f"there is no JVM behind Millrace, .* for {name}:"):
        ask()


def test_the_settings_of_an_environment_are_the_same_ones() -> None:
    env = StreamExecutionEnvironment()
    java = utils().get_j_env_configuration(env._j_stream_execution_environment)
    java.setString("pipeline.name", "of java")
    java.setInteger("a.number", 3)
    assert env._configuration.get_string("pipeline.name", "") == "of java"
    Configuration(j_configuration=java).set_integer("a.number", 4)
    assert (java.getInteger("a.number", 0), java.getString("a.number"), java.getString("not.there")) == (4, "4", None)
    options = jvm().org.apache.flink.configuration.ExecutionOptions
    assert java.getValue(options.RUNTIME_MODE) == "STREAMING"
    java.setString(options.RUNTIME_MODE, "BATCH")
    assert java.getValue(options.RUNTIME_MODE) == "BATCH"
    of_tables = utils().get_j_env_configuration(StreamTableEnvironment.create(env)._get_j_env())
    assert of_tables.getInteger("a.number", 0) == 4
    with pytest.raises(NoJavaError, match=r"Configuration.clone\(\)"):
        java.clone()


def test_arrays_are_lists_and_durations_ours() -> None:
    assert utils().to_jarray(jvm().GenericInMemoryCatalog, (1, 2)) == [1, 2]
    assert import_module("pyflink.java_gateway").get_gateway().new_array(None, 2, 1) == [[None], [None]]
    assert utils().from_j_duration(utils().to_j_duration(1500)).total_seconds() == 1.5


def test_class_loaders_are_kept_and_given_back() -> None:
    thread = jvm().java.lang.Thread.currentThread()
    loader = thread.getContextClassLoader()
    jvm().Thread.currentThread().setContextClassLoader(loader)
    found = loader.loadClass("org.apache.flink.table.catalog.GenericInMemoryCatalog")
    assert utils().is_instance_of(found("x"), found)
    with pytest.raises(TypeError, match="a class loader is expected"):
        thread.setContextClassLoader(None)
