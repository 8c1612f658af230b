"""The cases that are kept with Flink's answers: a line of JSON each."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from tests.flink.cep.draw import Case

ANSWERS = Path(__file__).with_name("answers")
FILES = ("plain", "automaton", "refused", "facts")
"""by what they follow from: enumeration, Flink's automaton, its checks; and the odd ones, written by hand"""


@cache
def cases(file: str) -> list[Case]:
    text = (ANSWERS / f"{file}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def keep(file: str, found: list[Case]) -> None:
    lines = [json.dumps(case, separators=(",", ":")) + "\n" for case in found]
    (ANSWERS / f"{file}.jsonl").write_text("".join(lines), encoding="utf-8")
    cases.cache_clear()
