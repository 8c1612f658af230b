"""Writes docs/error-index.md: makes every mistake of tests/front_door/mistakes and keeps what was said."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.front_door.mistakes.mistake import Mistake
from tests.front_door.mistakes.page import PAGE, page
from tests.front_door.mistakes.running import make


def message_of(mistake: Mistake) -> str:
    with tempfile.TemporaryDirectory(prefix="millrace-mistake-") as folder:
        return make(mistake, Path(folder)).text


if __name__ == "__main__":
    PAGE.write_text(page(message_of), "utf-8")
    print(f"wrote {PAGE}")
