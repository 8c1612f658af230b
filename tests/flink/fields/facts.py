"""Flink's answers about fields of CSV and JSON: what its formats read of a text, and how they write that again."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ANSWERS = Path(__file__).with_name("answers.json.xz")

Group = dict[str, Any]
"""door, type, options, texts and answers"""


@dataclass(frozen=True)
class Fact:
    """One message that Flink read."""

    door: str
    """csv (messages of tables), csv-file (files of tables), csv-reader (``CsvReaderFormat``), csv-row
    (``CsvRowDeserializationSchema``), json and json-tree (tables, by Flink's two parsers), json-row"""
    type: str
    """of the first field; the second one is a text"""
    options: dict[str, Any]
    text: str
    rows: list[list[Any]] | None
    """what was read; None: it was refused"""
    written: list[str | None]
    """how Flink writes these rows; None: not at all"""

    @property
    def message(self) -> str:
        if self.options.get("whole"):
            return self.text
        if self.door.startswith("json"):
            return f'{{"f":{self.text},"last":"z"}}'
        return f"{self.text}{self.options.get('separator', ',')}z"


def facts(door: str) -> Iterator[Fact]:
    """All that is recorded of one of Flink's formats."""
    for group in kept():
        if group["door"] == door:
            for text, answer in zip(group["texts"], group["answers"], strict=True):
                yield _fact(group, text, answer)


def _fact(group: Group, text: str, answer: Any) -> Fact:
    about = group["door"], group["type"], group["options"], text
    if isinstance(answer, dict):
        return Fact(*about, None, [])
    return Fact(*about, [row for row, _ in answer], [each if isinstance(each, str) else None for _, each in answer])


def kept() -> list[Group]:
    found: list[Group] = json.loads(lzma.decompress(ANSWERS.read_bytes()))
    return found


def keep(groups: Sequence[Group]) -> None:
    text = json.dumps(groups, ensure_ascii=False, separators=(",", ":"))
    ANSWERS.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
