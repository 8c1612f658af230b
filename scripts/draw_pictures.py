#!/usr/bin/env python
"""Draws docs/pictures: those of the concepts, and time lines of the tutorials' programs.

python scripts/draw_pictures.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.pictures import concepts, timelines  # noqa: E402  (run as a file, its folder is all that Python looks in)

TARGET = ROOT / "docs" / "pictures"
COMMAND = "make pictures"
PICTURES: dict[str, Callable[[], str]] = {
    "greenhouse.svg": timelines.greenhouse,
    "reminder.svg": timelines.reminder,
    "time.svg": concepts.time,
    "state.svg": concepts.state,
    "checkpoints.svg": concepts.checkpoints,
    "stages.svg": concepts.stages,
}


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    for name, drawn in PICTURES.items():
        (TARGET / name).write_text(drawn() + "\n", "utf-8")


if __name__ == "__main__":
    main()
