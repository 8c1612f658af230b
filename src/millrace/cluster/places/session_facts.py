"""What a session was started with, for those who ask whether it is the one that a program wants."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

import millrace
from millrace.cluster.documents.codec import decode, encode
from millrace.cluster.places.durable import write_file
from millrace.common.config_values import split_list

_FILE = "session.json"
_PACKAGES = ("pyspark", "pyarrow", "pandas", "numpy", "cloudpickle")
_JARS = {"pipeline.jars", "pipeline.classpaths"}
_OF_SPARK = ("spark.", "env.java.", *sorted(_JARS))
"""Beginnings of keys that are settled when Spark starts."""
_OF_EACH_PROGRAM = ("spark.log.level", "spark.app.name")


@dataclass(frozen=True)
class SessionFacts:
    """What cannot be changed any more when the session runs."""

    versions: Mapping[str, str]
    """of Python, with its place, and of packages"""
    settings: Mapping[str, str] = field(repr=False)
    """those that say how Spark starts"""
    idle_seconds: float
    began: int
    """ms since the epoch"""


def facts_of(configuration: Mapping[str, str], idle_seconds: float, began: int) -> SessionFacts:
    """Those of a session that this Python starts."""
    return SessionFacts(versions(), spark_part(configuration), idle_seconds, began)


def versions() -> dict[str, str]:
    """What is installed here."""
    found = {"Python": f"{sys.version.split()[0]} in {sys.prefix}", "Millrace": _millrace()}
    for name in _PACKAGES:
        if (known := _version(name)) is not None:
            found[name] = known
    return found


def _version(package: str) -> str | None:
    """What is installed of a package, by the name of the folder with its metadata: to read those takes longer than all
    else that a command does before it hands its program over."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    begin, end = f"{package}-", ".dist-info"
    beside = os.listdir(os.path.dirname(os.path.dirname(spec.origin)))
    names = (name for name in beside if name.startswith(begin) and name.endswith(end))
    return next((name[len(begin) : -len(end)] for name in names), None)


def _millrace() -> str:
    """With its place and the newest change of a module: a copy that is worked on has one version for long. Folders also
    change when Python keeps there what it has compiled."""
    package = os.path.dirname(os.path.abspath(millrace.__file__))
    modules = [os.path.join(folder, name) for folder, _, names in os.walk(package) for name in names]
    changes = [os.stat(module).st_mtime for module in modules if module.endswith(".py")]
    return f"{millrace.__version__} in {package} of {max(changes):.0f}, {len(changes)} modules"


def spark_part(configuration: Mapping[str, str]) -> dict[str, str]:
    """What a configuration says about Spark's start."""
    found = {
        key: value
        for key, value in configuration.items()
        if key.startswith(_OF_SPARK) and key not in _OF_EACH_PROGRAM
    }
    for key in _JARS & found.keys():
        jars = _sparks(split_list(found.pop(key)))
        if jars:
            found[key] = ";".join(jars)
    return found


def _sparks(jars: Iterable[str]) -> list[str]:
    """Jars that Spark gets. Those of Flink's own that are not there are left out, so Spark starts as without them."""
    from millrace.datastream.settings.dependencies import is_flinks_and_missing  # few programs have any

    return [jar for jar in jars if not is_flinks_and_missing(jar)]


def why_not(facts: SessionFacts, configuration: Mapping[str, str], here: Mapping[str, str]) -> str | None:
    """Why a program does not run on a session, in a few words; None: it does.

    :param here: the versions where the program is.
    """
    changed = _different(facts.versions, here)
    if changed:
        return f"it was started with another {' and '.join(changed)}"
    # What the program says nothing about is as whoever started the session wanted it.
    other = sorted(key for key, value in spark_part(configuration).items() if facts.settings.get(key) != value)
    if other:
        return f"it has other settings: {', '.join(other)}"
    return None


def _different(one: Mapping[str, str], other: Mapping[str, str]) -> Iterable[str]:
    return sorted(key for key in {*one, *other} if one.get(key) != other.get(key))


def write_facts(folder: str, facts: SessionFacts) -> None:
    """Keep them in the session's folder."""
    write_file(os.path.join(folder, _FILE), encode(facts))


def read_facts(folder: str) -> SessionFacts:
    """Those of a session.

    :raises OSError, ValueError: there are none.
    """
    with open(os.path.join(folder, _FILE), "rb") as file:
        return decode(file.read(), SessionFacts)
