# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Public names of catalogs and their objects (PyFlink: ``pyflink.table.catalog``)."""

from __future__ import annotations

from millrace.table.catalogs.catalog import Catalog, GenericInMemoryCatalog
from millrace.table.catalogs.file_catalog import FileCatalog
from millrace.table.catalogs.jdbc_catalog import JdbcCatalog
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
from millrace.util.not_yet import lazy_names

__all__ = [
    "Catalog",
    "GenericInMemoryCatalog",
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
    "CatalogDescriptor",
    "ObjectIdentifier",
    "JdbcCatalog",
    "Column",
    "PhysicalColumn",
    "ComputedColumn",
    "MetadataColumn",
    "WatermarkSpec",
    "Constraint",
    "UniqueConstraint",
    "ResolvedSchema",
    "FileCatalog",
]

_REFUSED = {
    "HiveCatalog": "FileCatalog, or a subclass of Catalog",
}

__getattr__ = lazy_names(__name__, {}, _REFUSED)
