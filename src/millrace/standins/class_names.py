"""Which class here stands in for which class of Java."""

from __future__ import annotations

import importlib
from typing import Any

from millrace.standins.no_java import NoJavaError

__all__ = ["stand_in", "stand_in_by_simple_name"]

_FLINK = "org.apache.flink."
_HERE = "millrace.standins."
_CLASSES = {
    "java.lang.Thread": _HERE + "threads:Thread",
    f"{_FLINK}api.common.ExecutionConfig": "millrace.common.execution_config:ExecutionConfig",
    f"{_FLINK}configuration.Configuration": _HERE + "configurations:JavaConfiguration",
    f"{_FLINK}configuration.DeploymentOptions": _HERE + "options:DeploymentOptions",
    f"{_FLINK}configuration.ExecutionOptions": _HERE + "options:ExecutionOptions",
    f"{_FLINK}python.PythonOptions": _HERE + "options:PythonOptions",
    f"{_FLINK}table.api.config.TableConfigOptions": _HERE + "options:TableConfigOptions",
    f"{_FLINK}table.catalog.GenericInMemoryCatalog": "millrace.table.catalog:GenericInMemoryCatalog",
    f"{_FLINK}table.catalog.ObjectPath": "millrace.table.catalog:ObjectPath",
    f"{_FLINK}table.module.CoreModule": _HERE + "modules:CoreModule",
}
"""Name in Java -> module and name here. A class of Millrace itself serves where its constants, and how it is made, are
the same in both languages."""
_BY_SIMPLE_NAME = {name.rpartition(".")[2]: name for name in _CLASSES}


def stand_in(name: str) -> Any:
    """The class that stands in for one of Java, by its full name.

    :raises NoJavaError: there is none.
    """
    home = _CLASSES.get(name)
    if home is None:
        raise NoJavaError(name)
    module, _, attribute = home.partition(":")
    return getattr(importlib.import_module(module), attribute)


def stand_in_by_simple_name(name: str) -> Any:
    """The same by the last part of the name, as PyFlink's view of the JVM has it.

    :raises NoJavaError: there is none.
    """
    return stand_in(_BY_SIMPLE_NAME.get(name, name))
