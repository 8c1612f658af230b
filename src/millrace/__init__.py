"""Millrace: write Flink programs, run them on the Spark you already have."""

from typing import NoReturn

# Not looked up lazily: the import of a submodule binds its name here, and this name is to be the function.
from millrace.activate import activate, deactivate

__version__ = "0.1.0"
__all__ = ["activate", "deactivate", "__version__"]

_HOMES = ("datastream", "table", "common", "datastream.functions", "datastream.window", "datastream.state")


def __getattr__(name: str) -> NoReturn:
    """Explain ``from millrace import StreamExecutionEnvironment``: the error names the module that has it."""
    if name[:1].isupper():  # a class; all modules are in lower case
        from importlib import import_module

        for home in (f"millrace.{each}" for each in _HOMES):
            if hasattr(import_module(home), name):
                raise ImportError(f"{name} is in {home}: from {home} import {name}", name=__name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
