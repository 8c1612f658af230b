"""Keeps how long the tests of each file take: ``tests/durations.json``, from reports of ``pytest --junitxml``.

make durations
"""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as xml
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
DURATIONS = ROOT / "tests" / "durations.json"
LEAST_SECONDS = 0.5
"""files that take less are not written down"""


def durations(reports: list[Path]) -> dict[str, float]:
    """File -> seconds of all its tests, of files with more than ``LEAST_SECONDS``."""
    found: defaultdict[str, float] = defaultdict(float)
    for report in reports:
        for case in xml.parse(report).iter("testcase"):
            found[f"{case.get('classname', '').replace('.', '/')}.py"] += float(case.get("time", 0))
    return {name: round(seconds, 1) for name, seconds in sorted(found.items()) if seconds > LEAST_SECONDS}


if __name__ == "__main__":
    DURATIONS.write_text(json.dumps(durations([Path(each) for each in sys.argv[1:]]), indent=0) + "\n")
    print(f"wrote {DURATIONS}")
