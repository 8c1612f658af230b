"""pyflink.table.catalog: what is missing."""

from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.catalog import Catalog, ObjectPath
from pyflink.util.exceptions import FunctionNotExistException, ModelNotExistException, TableNotExistException
from tests.dropin.checks import raises


def _catalog() -> Catalog:
    catalog = TableEnvironment.create(EnvironmentSettings.in_streaming_mode()).get_catalog("default_catalog")
    assert catalog is not None
    return catalog


def in_a_database_that_is_missing_an_object_is_missing() -> None:
    """Also where it is the database that is not there."""
    catalog = _catalog()
    for path in (ObjectPath("no_such_database", "x"), ObjectPath("default_database", "no_such_object")):
        with raises(TableNotExistException):
            catalog.get_table(path)
        with raises(FunctionNotExistException):
            catalog.get_function(path)
        with raises(ModelNotExistException):
            catalog.get_model(path)
        with raises(TableNotExistException):
            catalog.drop_table(path, False)
        catalog.drop_table(path, True)
