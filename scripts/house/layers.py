"""Layers: which package may import which, checked in the source of every module.

    datastream, table, cep  ->  graph  ->  runtime  ->  relational            spark, cluster, cli on top

Imports under ``if TYPE_CHECKING`` do not count: they never run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scripts.house.tree import PACKAGE, Import, Module

# "" are the modules right under millrace.
EVERYTHING = {
    "", "cdc", "cep", "checkpoint", "cli", "cluster", "common", "configuration", "connectors", "datastream", "dbapi",
    "formats", "graph", "lint", "metrics", "notebook", "relational", "runtime", "spark", "state", "table", "testing",
    "util",
}  # fmt: skip
BELOW_SPARK = EVERYTHING - {"spark", "cluster", "cli", "dbapi", "cdc", "lint", "notebook"}

# Settings that the graph carries along.
VALUES = {
    "datastream.job_settings",
    "datastream.checkpoint_storage",
    "datastream.checkpointing_mode",
    "datastream.execution_mode",
    "datastream.slot_sharing_group",
    "datastream.state_backend",
}

# Package -> what its modules may import: packages or single modules.
ALLOWED: dict[str, set[str]] = {
    "": BELOW_SPARK | {"pyflink_names"},
    "__main__": EVERYTHING,
    # Older names: finds the room in functions, which nothing else knows.
    "legacy": BELOW_SPARK | {"legacy"},
    # Says where the public names of all others are, and imports none of them.
    "pyflink_names": BELOW_SPARK | {"pyflink_names"},
    # What faces Java in PyFlink: found by the names of pyflink only.
    "standins": BELOW_SPARK | {"standins"},
    # Which options are secrets is a table of words, which itself imports nothing. Classes that once had other methods
    # ask what knows them, if anything does; that is a list that imports nothing, either. Nor do the words for a full
    # disk.
    "common": {"common", "util.fallback", "util.not_yet", "util.secrets", "util.system"},
    "metrics": {"common", "metrics", "util.plugins", "util.ports", "util.secrets"},
    "util": {"common", "util"},
    # Types, expressions, plan nodes and built-in functions of tables: descriptions and columns, no engine.
    "relational": {"common", "util", "relational"},
    "configuration": {"common", "util", "configuration"},
    "runtime": {"common", "metrics", "util", "relational", "runtime"},
    "connectors": {"common", "util", "relational", "connectors", "formats"},
    "formats": {"common", "util", "relational", "connectors", "formats"},
    "checkpoint": {"common", "util", "runtime", "checkpoint"},
    "graph": {"common", "util", "relational", "runtime", "graph", "connectors"} | VALUES,
    "datastream": BELOW_SPARK,
    "table": BELOW_SPARK,
    "cep": BELOW_SPARK,
    "state": BELOW_SPARK,
    "testing": BELOW_SPARK,
    # Pipelines of YAML are programs of streams.
    "cdc": BELOW_SPARK | {"cdc"},
    # Looks at programs that were built; only the command knows of it.
    "lint": BELOW_SPARK | {"lint"},
    "spark": EVERYTHING - {"cluster", "cli", "dbapi", "cdc", "lint", "notebook"},
    "cluster": EVERYTHING - {"cli", "dbapi", "cdc", "lint", "notebook"},
    # Speaks to a gateway over HTTP; of the rest it needs types, rows and the tokens of SQL.
    "dbapi": {"common", "util", "relational", "table.sql", "cluster.sql_client", "dbapi"},
    "cli": EVERYTHING - {"notebook"},
    "notebook": EVERYTHING,
}
ENGINE = {"pyspark", "py4j"}
STARTS_JAVA = {"testing.services.search"}
"""modules that start a server in Java through py4j, inside functions, and no Spark"""
NAMES_JAVA_ERRORS = {"util.java_errors"}
"""the class that makes errors a ``Py4JJavaError``, too, if py4j is there"""
MAY_IMPORT_ENGINE = {"spark"}
MAY_IMPORT_ENGINE_IN_FUNCTIONS = {"spark", "cli"}


def within(module: str, allowed: set[str]) -> bool:
    """Is ``module`` one of ``allowed`` or inside one of them?"""
    return layer_of(module) in allowed or any(module == name or module.startswith(f"{name}.") for name in allowed)


def layer_of(name: str) -> str:
    """The package that a module (named without ``millrace.``) belongs to."""
    head, dot, _ = name.partition(".")
    return head if dot or head in ALLOWED or head in EVERYTHING else ""


def broken_rule(name: str, layer: str, found: Import) -> str | None:
    """The rule that an import of the module ``name`` breaks."""
    top, _, target = found.target.partition(".")
    if top in ENGINE:
        if found.in_function and name in STARTS_JAVA:
            return None
        if top == "py4j" and name in NAMES_JAVA_ERRORS:
            return None
        permitted = MAY_IMPORT_ENGINE_IN_FUNCTIONS if found.in_function else MAY_IMPORT_ENGINE
        return None if layer in permitted else "only spark may import pyspark and py4j, and cli inside functions"
    if top != PACKAGE or not target:  # `from millrace import __version__` is free
        return None
    if layer not in ALLOWED:
        return f"no rule for {layer}: add it to ALLOWED in scripts/house/layers.py"
    if within(target, ALLOWED[layer]):
        return None
    return f"{layer or PACKAGE} may import only {', '.join(name or PACKAGE for name in sorted(ALLOWED[layer]))}"


def broken_layers(modules: Mapping[str, Module]) -> Iterator[str]:
    """One line per import that breaks a rule: module, line, what it imports, the rule."""
    for module in modules.values():
        name = module.name.partition(".")[2]
        layer = name.partition(".")[0] if module.is_package else layer_of(name)
        for found in module.imports:
            if rule := broken_rule(name, layer, found):
                yield f"{module.name}:{found.line} imports {found.target}: {rule}"
