"""The examples in docstrings: what they may use, and how they are run.

In an example ``env`` is a ``StreamExecutionEnvironment`` with parallelism 1, ``t_env`` a ``StreamTableEnvironment``
over it, with the tables ``orders`` and ``clicks``, which has an event time. All public names are imported; where two
packages have one name, it is that of the package that the example is about. Jobs run in this process.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any

from scripts.site_pages import public
from scripts.site_pages.public import Public

from millrace.datastream import StreamExecutionEnvironment
from millrace.table import StreamTableEnvironment, Table

FLAGS = doctest.ELLIPSIS
_ORDERS = [("Ann", "ink", 1), ("Bob", "pen", 2), ("Ann", "pen", 3)]
_CLICKS = """
    CREATE TABLE clicks (n INT, at AS CAST(TO_TIMESTAMP_LTZ(n * 1200, 0) AS TIMESTAMP(3)), WATERMARK FOR at AS at)
    WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '4')
"""
_TABLES = ("orders", "clicks")
_PARSER = doctest.DocTestParser()


def docstrings_of(name: Public) -> Iterator[tuple[str, str]]:
    """The docstrings of a name and of its methods that have examples, each with whose it is."""
    texts = {"": name.found.__doc__, **{f".{each}": method.__doc__ for each, method in name.methods.items()}}
    for part, text in texts.items():
        if text and ">>> " in text:
            yield f"{name}{part}", text


def examples_of(name: Public) -> list[doctest.DocTest]:
    """The examples of a name, each with an environment of its own."""
    return [
        _PARSER.get_doctest(inspect.cleandoc(text), globals_for(name, text), place, name.home, 0)
        for place, text in docstrings_of(name)
    ]


def globals_for(name: Public, text: str) -> dict[str, Any]:
    """What an example may use; environments only if it does."""
    found = {**_everything(), **_names_of(name.package), "__name__": "__main__"}
    if any(word in text for word in ("env", *_TABLES)):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1)
        found["env"] = env
        if any(word in text for word in ("t_env", *_TABLES)):
            found["t_env"] = t_env = StreamTableEnvironment.create(env)
            t_env.get_config().set("table.local-time-zone", "UTC")
            found.update(_tables(t_env, text))
    return found


def _tables(t_env: StreamTableEnvironment, text: str) -> dict[str, Table]:
    found: dict[str, Table] = {}
    if "orders" in text:
        found["orders"] = t_env.from_elements(_ORDERS, ["name", "product", "amount"])
        t_env.create_temporary_view("orders", found["orders"])
    if "clicks" in text:
        t_env.execute_sql(_CLICKS)
        found["clicks"] = t_env.from_path("clicks")
    return found


@cache
def _everything() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for package in public.PACKAGES:
        for module in public.modules(package):
            found = {**_names_of(module.__name__), **found}
    return found


@cache
def _names_of(module: str) -> dict[str, Any]:
    package = ".".join(module.split(".")[:2])
    names: dict[str, Any] = {}
    for each in dict.fromkeys((package, module)):
        found = importlib.import_module(each)
        names.update({name: getattr(found, name) for name in getattr(found, "__all__", ())})
    return names
