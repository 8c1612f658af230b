"""Catalogs: the same rules in memory and in files, and what stays in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.table import DataTypes, Schema
from millrace.table.catalog import (
    Catalog,
    CatalogBaseTable,
    CatalogColumnStatistics,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTableStatistics,
    FileCatalog,
    GenericInMemoryCatalog,
    ObjectIdentifier,
    ObjectPath,
)
from millrace.table.catalogs.objects import split_path
from millrace.util import exceptions as errors

SCHEMA = (
    Schema.new_builder()
    .column("a", DataTypes.INT(False))
    .column("odd `name", "ARRAY<STRING>")
    .column_by_expression("b", "a + 1")
    .column_by_metadata("m", "TIMESTAMP(3)", "key", True)
    .watermark("m", "m - INTERVAL '1' SECOND")
    .primary_key("a")
    .build()
)
TABLE = CatalogBaseTable.create_table(SCHEMA, ["a"], {"connector": "print"}, "said")
VIEW = CatalogBaseTable.create_view("SELECT 1", "SELECT 1", SCHEMA, {})
T, V = ObjectPath("default", "t"), ObjectPath("default", "v")


@pytest.fixture(params=["memory", "file"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    return GenericInMemoryCatalog("c") if request.param == "memory" else FileCatalog("c", tmp_path / "catalog")


def test_databases(catalog: Catalog) -> None:
    catalog.create_database("db", CatalogDatabase({"k": "v"}, "said"), False)
    catalog.create_database("db", CatalogDatabase({}), True)
    assert sorted(catalog.list_databases()) == ["db", "default"]
    assert catalog.get_database("db") == CatalogDatabase({"k": "v"}, "said")
    with pytest.raises(errors.DatabaseAlreadyExistException):
        catalog.create_database("db", CatalogDatabase({}), False)
    catalog.alter_database("db", CatalogDatabase({"k": "w"}), False)
    assert catalog.get_database("db").get_properties() == {"k": "w"}
    catalog.create_table(ObjectPath("db", "t"), TABLE, False)
    with pytest.raises(errors.DatabaseNotEmptyException):
        catalog.drop_database("db", False)
    catalog.drop_database("db", False, cascade=True)
    catalog.drop_database("db", True)
    with pytest.raises(errors.DatabaseNotExistException):
        catalog.drop_database("db", False)


def test_tables_and_views(catalog: Catalog) -> None:
    catalog.create_table(T, TABLE, False)
    catalog.create_table(V, VIEW, False)
    assert sorted(catalog.list_tables("default")) == ["t", "v"]
    assert catalog.list_views("default") == ["v"]
    assert catalog.get_table(T) == TABLE
    assert catalog.get_table(V).expanded_query == "SELECT 1"
    with pytest.raises(errors.TableAlreadyExistException):
        catalog.create_table(T, TABLE, False)
    with pytest.raises(errors.CatalogException, match="a view a view"):
        catalog.alter_table(V, TABLE, False)
    catalog.rename_table(T, "odd/name", False)
    assert catalog.table_exists(ObjectPath("default", "odd/name"))
    assert not catalog.table_exists(T)
    catalog.drop_table(V, False)
    with pytest.raises(errors.TableNotExistException):
        catalog.drop_table(V, False)
    catalog.drop_table(V, True)
    with pytest.raises(errors.DatabaseNotExistException):
        catalog.list_tables("nowhere")


def test_partitions(catalog: Catalog) -> None:
    catalog.create_table(T, TABLE, False)
    one, two = CatalogPartitionSpec({"a": "1"}), CatalogPartitionSpec({"a": "2"})
    catalog.create_partition(T, one, CatalogPartition({"k": "v"}), False)
    catalog.create_partition(T, two, CatalogPartition({}), False)
    assert catalog.list_partitions(T, one) == [one]
    assert len(catalog.list_partitions(T)) == 2
    assert catalog.get_partition(T, one).get_properties() == {"k": "v"}
    with pytest.raises(errors.PartitionAlreadyExistsException):
        catalog.create_partition(T, one, CatalogPartition({}), False)
    with pytest.raises(errors.PartitionSpecInvalidException):
        catalog.create_partition(T, CatalogPartitionSpec({"b": "1"}), CatalogPartition({}), False)
    catalog.drop_partition(T, one, False)
    with pytest.raises(errors.PartitionNotExistException):
        catalog.get_partition(T, one)
    catalog.create_table(ObjectPath("default", "plain"), CatalogBaseTable.create_table(SCHEMA), False)
    with pytest.raises(errors.TableNotPartitionedException):
        catalog.list_partitions(ObjectPath("default", "plain"))
    catalog.drop_table(T, False)
    catalog.drop_database("default", False, cascade=True)


def test_functions_and_models(catalog: Catalog) -> None:
    catalog.create_function(T, CatalogFunction("m.f"), False)
    assert catalog.get_function(T).get_class_name() == "m.f"
    with pytest.raises(errors.FunctionAlreadyExistException):
        catalog.create_function(T, CatalogFunction("m.f"), False)
    catalog.drop_function(T, False)
    with pytest.raises(errors.FunctionNotExistException):
        catalog.get_function(T)
    catalog.create_model(T, CatalogModel.create_model(SCHEMA, SCHEMA, {"provider": "x"}), False)
    catalog.rename_model(T, "m", False)
    assert catalog.list_models("default") == ["m"]
    assert catalog.get_model(ObjectPath("default", "m")).get_input_schema() == SCHEMA
    with pytest.raises(errors.ModelNotExistException):
        catalog.drop_model(T, False)


def test_statistics(catalog: Catalog) -> None:
    catalog.create_table(T, TABLE, False)
    assert catalog.get_table_statistics(T).get_row_count() == -1
    catalog.alter_table_statistics(T, CatalogTableStatistics(5, 1, 100, 50, {"k": "v"}), False)
    assert catalog.get_table_statistics(T).get_properties() == {"k": "v"}
    catalog.alter_table_column_statistics(T, CatalogColumnStatistics({"a": {"max": 3}}), False)
    assert catalog.get_table_column_statistics(T).get_column_statistics_data() == {"a": {"max": 3}}
    with pytest.raises(errors.TableNotExistException):
        catalog.alter_table_statistics(V, CatalogTableStatistics(5), False)


def test_files_stay(tmp_path: Path) -> None:
    FileCatalog("c", tmp_path).create_table(T, TABLE, False)
    assert FileCatalog("c", tmp_path).get_table(T) == TABLE
    assert not list(tmp_path.rglob("*.draft"))


def test_what_is_of_the_session_cannot_be_kept_in_files(tmp_path: Path) -> None:
    from millrace.table.expressions import col

    computed = Schema.new_builder().column("a", "INT").column_by_expression("b", col("a") + 1).build()
    with pytest.raises(errors.CatalogException, match="written in SQL"):
        FileCatalog("c", tmp_path).create_table(T, CatalogBaseTable.create_table(computed), False)


def test_a_catalog_that_can_do_nothing_says_so() -> None:
    with pytest.raises(errors.CatalogException, match="Catalog cannot create tables"):
        Catalog().create_table(T, TABLE, False)
    assert not Catalog().database_exists("x")


@pytest.mark.parametrize(
    ("path", "parts"),
    [("a", ["a"]), ("a.b.c", ["a", "b", "c"]), ("`a.b`.`c``d`", ["a.b", "c`d"]), (" a . b ", ["a", "b"])],
)
def test_paths(path: str, parts: list[str]) -> None:
    assert split_path(path) == parts


@pytest.mark.parametrize("path", ["", "a..b", "`a", "a b.c."])
def test_no_paths(path: str) -> None:
    with pytest.raises(errors.TableException, match="no path of an object"):
        split_path(path)


def test_identifiers() -> None:
    identifier = ObjectIdentifier.of("c", "d", "odd `name")
    assert identifier.as_serializable_string() == "`c`.`d`.`odd ``name`"
    assert identifier.as_summary_string() == "c.d.odd `name"
    assert identifier.to_object_path().compare_to(ObjectPath("d", "a")) > 0
    assert ObjectPath.from_string("a.b") == ObjectPath("a", "b")
