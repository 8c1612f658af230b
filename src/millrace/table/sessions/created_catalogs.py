"""CREATE CATALOG: catalogs by their options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points

from millrace.table.catalogs.base import Catalog
from millrace.table.catalogs.files import FileCatalog
from millrace.table.catalogs.jdbc import JdbcCatalog
from millrace.table.catalogs.kept import GenericInMemoryCatalog
from millrace.table.catalogs.manager import CatalogManager
from millrace.table.values.problems import did_you_mean, problem

ENTRY_POINTS = "millrace.catalogs"
_DATABASE = "default-database"
Factory = Callable[[str, Mapping[str, str]], Catalog]


def _in_memory(name: str, options: Mapping[str, str]) -> Catalog:
    return GenericInMemoryCatalog(name, options.get(_DATABASE, "default"))


def _file(name: str, options: Mapping[str, str]) -> Catalog:
    if "path" not in options:
        raise problem(f"catalog {name}: type 'file' needs 'path', a directory")
    return FileCatalog(name, options["path"], options.get(_DATABASE, "default"))


def _jdbc(name: str, options: Mapping[str, str]) -> Catalog:
    for needed in ("base-url", _DATABASE):
        if needed not in options:
            raise problem(f"catalog {name}: type 'jdbc' needs '{needed}'")
    user, password = options.get("username"), options.get("password")
    return JdbcCatalog(name, options[_DATABASE], user, password, options["base-url"])


_BUILT_IN: dict[str, tuple[Factory, tuple[str, ...]]] = {
    "generic_in_memory": (_in_memory, (_DATABASE,)),
    "file": (_file, ("path", _DATABASE)),
    "jdbc": (_jdbc, ("base-url", _DATABASE, "username", "password", "driver")),
}


def create_catalog(manager: CatalogManager, name: str, options: Mapping[str, str], comment: str | None = None) -> None:
    """Make and register a catalog.

    :raises TableException: an unknown type, or options that it does not have.
    """
    kind = options.get("type")
    installed = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if kind in _BUILT_IN:
        make, known = _BUILT_IN[kind]
        for option in options:
            if option not in ("type", *known):
                raise problem(f"catalog type '{kind}' has no option '{option}'{did_you_mean(option, known)}")
        catalog = make(name, options)
    elif kind in installed:
        catalog = installed[kind].load()(name, options)
    else:
        kinds = sorted({*_BUILT_IN, *installed})
        given = "has no type" if kind is None else f"has the unknown type '{kind}'{did_you_mean(kind, kinds)}"
        raise problem(f"catalog {name} {given}: WITH ('type' = '...'), one of {', '.join(kinds)}")
    manager.register(name, catalog)
    manager.descriptions[name] = (dict(options), comment)
