"""Words of the code in docs/glossary.md: each leads to a module that exists, and to classes and functions in it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PLACE = re.compile(r"`([\w/]+\.py)`(?: \(([^)]*)\))?")


def places(page: str) -> list[tuple[str, list[str]]]:
    """Each module that the last column of a table names, with the names that follow it in brackets."""
    cells = [line.rsplit("|", 2)[1] for line in page.splitlines() if line.startswith("| ")]
    return [(module, re.findall(r"`(\w+)`", names)) for cell in cells for module, names in _PLACE.findall(cell)]


def test_words_lead_to_their_places() -> None:
    found = places((ROOT / "docs/glossary.md").read_text("utf-8"))
    assert len(found) > 60
    wrong = []
    for module, names in found:
        file = ROOT / "src/millrace" / module
        text = file.read_text("utf-8") if file.exists() else ""
        wrong += [f"{module}: no such module"] if not text else []
        wrong += [
            f"{module}: no {name}"
            for name in names
            if text and not re.search(rf"^(?:class |def )?{name}\b[ :=(\[]", text, re.MULTILINE)
        ]
    assert not wrong, wrong
