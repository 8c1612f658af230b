"""Writes docs/connector-faults.md from what tests recorded of servers that fail (tests/data/connector_faults.json)."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.connectors.faults.all_places import PLACES
from tests.connectors.faults.recordings import PAGE, page

if __name__ == "__main__":
    PAGE.write_text(page(PLACES), "utf-8")
    print(f"wrote {PAGE}")
