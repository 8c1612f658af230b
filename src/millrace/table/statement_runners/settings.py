"""USE, SET, RESET, LOAD MODULE, UNLOAD MODULE, ADD JAR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.table.functions.module import CoreModule, Module
from millrace.table.not_yet import not_yet
from millrace.table.sessions.table_result import TableResult, done, listing
from millrace.table.sql import statements as s
from millrace.table.values.problems import problem
from millrace.util.secrets import mask_options

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session

ENTRY_POINTS = "millrace.modules"


def use_catalog(statement: s.UseCatalog, session: Session) -> TableResult:
    session.catalogs.use_catalog(str(statement.name))
    return done()


def use_database(statement: s.UseDatabase, session: Session) -> TableResult:
    *catalog, database = map(str, statement.path)
    session.catalogs.use_database(database, catalog[0] if catalog else None)
    return done()


def use_modules(statement: s.UseModules, session: Session) -> TableResult:
    session.functions.use_modules(list(map(str, statement.names)))
    return done()


def load_module(statement: s.LoadModule, session: Session) -> TableResult:
    session.functions.load_module(str(statement.name), _module(str(statement.name)))
    return done()


def _module(name: str) -> Module:
    from importlib.metadata import entry_points

    if name == "core":
        return CoreModule()
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == name:
            made = point.load()()
            assert isinstance(made, Module)
            return made
    raise problem(
        f"there is no module '{name}': a module made in Python is loaded with load_module(), one of a package has an "
        f"entry point in {ENTRY_POINTS}"
    )


def jar(statement: s.Jar, session: Session) -> TableResult:
    """A jar for Spark's session, as ``add_jars`` gives one.

    :raises NotImplementedError: it is to be removed, which Flink cannot do outside of its client either.
    :raises FileNotFoundError: it is not there.
    """
    if statement.action != "ADD":
        raise not_yet(f"{statement.action} JAR", "a program without the ADD JAR")
    session.streams.add_jars(statement.file)
    return done()


def unload_module(statement: s.UnloadModule, session: Session) -> TableResult:
    session.functions.unload_module(str(statement.name))
    return done()


def set_option(statement: s.Set, session: Session) -> TableResult:
    config = session.config
    if statement.key is None:
        columns = (Field("key", t.string()), Field("value", t.string()))
        return listing(columns, sorted(mask_options(config.get_configuration().to_dict()).items()))
    config.set(statement.key, statement.value or "")
    return done()


def reset_option(statement: s.Reset, session: Session) -> TableResult:
    configuration = session.config.get_configuration()
    for key in [statement.key] if statement.key is not None else sorted(configuration.key_set()):
        configuration.remove_config(key)
    return done()
