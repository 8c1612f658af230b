"""Public names of catalogs and their objects (PyFlink: ``pyflink.table.catalog``)."""

from __future__ import annotations

from millrace.table.catalogs.catalog import Catalog
from millrace.table.catalogs.file_catalog import FileCatalog
from millrace.table.catalogs.jdbc_catalog import JdbcCatalog
from millrace.table.catalogs.memory_catalog import GenericInMemoryCatalog
from millrace.table.catalogs.objects import (
    CatalogBaseTable,
    CatalogColumnStatistics,
    CatalogDatabase,
    CatalogDescriptor,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTableStatistics,
    ObjectIdentifier,
    ObjectPath,
    Procedure,
)
from millrace.table.catalogs.resolved_schema import (
    Column,
    ComputedColumn,
    Constraint,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)
from millrace.table.not_yet import not_yet

__all__ = [
    "Catalog",
    "CatalogDatabase",
    "CatalogBaseTable",
    "CatalogPartition",
    "CatalogFunction",
    "CatalogModel",
    "Procedure",
    "ObjectPath",
    "CatalogPartitionSpec",
    "CatalogTableStatistics",
    "CatalogColumnStatistics",
    "HiveCatalog",
    "JdbcCatalog",
    "CatalogDescriptor",
    "ObjectIdentifier",
    "Column",
    "PhysicalColumn",
    "ComputedColumn",
    "MetadataColumn",
    "WatermarkSpec",
    "Constraint",
    "UniqueConstraint",
    "ResolvedSchema",
    # not in PyFlink
    "FileCatalog",
    "GenericInMemoryCatalog",
]


class HiveCatalog(Catalog):
    """Not there yet: raises NotImplementedError.

    >>> HiveCatalog("hive")
    Traceback (most recent call last):
        ...
    NotImplementedError: ...
    """

    def __init__(
        self,
        catalog_name: str,
        default_database: str | None = None,
        hive_conf_dir: str | None = None,
        hadoop_conf_dir: str | None = None,
        hive_version: str | None = None,
    ) -> None:
        raise not_yet("HiveCatalog", "FileCatalog, or a subclass of Catalog")
