"""The settings of a session of Spark, all at once: PySpark asks the JVM for each one."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

_SEPARATOR = "\x1f"
_PLAIN = frozenset(string.ascii_letters + string.digits + ".")
_modifiable: dict[str, bool] = {}


def all_of(session: SparkSession) -> dict[str, str]:
    """What is set in a session: key -> value."""
    found: Any = session._jsparkSession.sessionState().conf().getAllConfs()
    pairs = str(found.mkString(_SEPARATOR)).split(_SEPARATOR) if found.size() else []
    return dict(_pair(each) for each in pairs)


def _pair(text: str) -> tuple[str, str]:
    """As Scala writes an entry of a map: no key has an arrow."""
    key, arrow, value = text.partition(" -> ")
    if not arrow:
        raise ValueError("Spark writes its settings in another way than this version of Millrace knows")
    return key, value


def is_modifiable(session: SparkSession, key: str) -> bool:
    """Whether a session may set a key: the same for each session of a Spark."""
    known = _modifiable.get(key)
    if known is None:
        known = _modifiable[key] = session.conf.isModifiable(key)
    return known


def set_all(session: SparkSession, settings: Mapping[str, str]) -> None:
    """Set them in a session.

    :param settings: such as a session may set.
    """
    jvm: Any = session._jvm
    properties = jvm.java.util.Properties()
    properties.load(jvm.java.io.StringReader("\n".join(f"{_escaped(k)}={_escaped(v)}" for k, v in settings.items())))
    session._jsparkSession.sessionState().conf().setConf(properties)


def _escaped(text: str) -> str:
    """As a file of properties has it: UTF-16, of which only letters, digits and dots stand for themselves."""
    units = text.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if chr(code) in _PLAIN else f"\\u{code:04x}" for code in codes)
