"""``options.txt``: what options mean.

A line is ``who | option | type | default | meaning``; several options or owners have commas between. Who is a connector,
a family of connectors (``FAMILIES``), ``*`` for all of them, or ``@`` and the name of a group that several share. A ``!``
begins a format. The most particular line counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parent / "options.txt"
FAMILIES = {
    "upsert-kafka": "kafka", "kafka-0.10": "kafka", "kafka-0.11": "kafka", "hbase-1.4": "hbase-2.2",
    "hbase-2.6": "hbase-2.2", "http-sink": "http", "rest-lookup": "http", "mysql-cdc": "cdc", "postgres-cdc": "cdc",
    "elasticsearch": "search", "elasticsearch-7": "search", "elasticsearch-8": "search", "opensearch": "search",
    "opensearch-2": "search", "!avro-confluent": "!confluent", "!json-confluent": "!confluent",
    "!debezium-avro-confluent": "!confluent", "!canal-json": "!canal", "!canal-protobuf": "!canal",
}  # fmt: skip
"""connector or format -> the name under which its options are described"""
_CALL = re.compile(r"http\.(?:sink|source\.lookup)\.(?P<name>.*)")


class Undescribed(Exception):
    """Options that ``options.txt`` does not know."""


@dataclass(frozen=True)
class Meaning:
    kind: str
    default: str
    text: str


def meaning(owner: str, option: str) -> Meaning:
    """What an option of a connector, or of a format (``!json``), means.

    :raises Undescribed: no line says it.
    """
    known = _known()
    group = f"@{shared(option)}" if shared(option) else ""
    everyone = "!*" if owner.startswith("!") else "*"
    for who in (owner, FAMILIES.get(owner, owner), group, everyone):
        found = known.get((who, option))
        if found is None and group == "@call" and who == group:
            found = known.get((who, _CALL.fullmatch(option)["name"]))  # type: ignore[index]  # else there is no group
        if found is not None:
            return found
    if owner == "!json-confluent":
        return meaning("!json", option)
    raise Undescribed(f"say in {SOURCE.name} what '{option}' of {owner} means")


def shared(option: str) -> str:
    """The group of options that this one is of: ``lookup``, ``watermark``, ``call``; empty: none."""
    if ("@lookup", option) in _known():
        return "lookup"
    if ("@watermark", option) in _known():
        return "watermark"
    called = _CALL.fullmatch(option)
    return "call" if called and ("@call", called["name"]) in _known() else ""


def group(name: str) -> Iterator[tuple[str, Meaning]]:
    """The options of a group."""
    return ((option, found) for (who, option), found in _known().items() if who == f"@{name}")


@cache
def _known() -> dict[tuple[str, str], Meaning]:
    found: dict[tuple[str, str], Meaning] = {}
    for line in SOURCE.read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        owners, options, kind, default, text = (cell.strip() for cell in re.split(r"(?<!\\)\|", line, maxsplit=4))
        for who in owners.split(","):
            for option in options.split(","):
                found[who.strip(), option.strip()] = Meaning(kind, default, text)
    return found
