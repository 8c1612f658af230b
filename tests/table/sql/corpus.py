"""The statements of corpus.sql by the class that they are read as."""

from __future__ import annotations

from pathlib import Path

_BLOCKS = Path(__file__).with_name("corpus.sql").read_text(encoding="utf-8").strip().split("\n\n")[1:]


def _statements() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for block in _BLOCKS:
        if block.startswith("-- @ "):
            found[block.removeprefix("-- @ ")] = last = []
        else:
            last.append(block)
    return found


STATEMENTS = _statements()
QUERIES = [text for text in STATEMENTS["Query"] if not text.startswith("EXECUTE")]
