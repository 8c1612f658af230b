"""Keeps how long the tests of each file take: ``tests/durations.json``, from a report of ``pytest --lanes-report``.

make durations
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
DURATIONS = ROOT / "tests" / "durations.json"
LEAST_SECONDS = 0.5
"""files that take less are not written down"""


def longest(report: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Group -> file -> seconds of all its tests, of files with more than ``LEAST_SECONDS``."""
    return {
        group: {name: round(seconds, 1) for name, seconds in sorted(files.items()) if seconds > LEAST_SECONDS}
        for group, files in sorted(report.items())
    }


if __name__ == "__main__":
    DURATIONS.write_text(json.dumps(longest(json.loads(Path(sys.argv[1]).read_text())), indent=0) + "\n")
    print(f"wrote {DURATIONS}")
