"""Runs the tests that a change needs."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

from scripts.house.tree import read_tree
from scripts.rings.choose import changed_files, choose, imports_of_tests
from scripts.rings.record import DURATIONS, ROOT

SECONDS = 60
"""of tests, on each processor"""
WITHOUT_JAVA = "not spark and not services and not slow"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.rings", description=__doc__)
    parser.add_argument("--since", help="a revision of git; default: HEAD, or the one before where nothing has changed")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="of tests, on each processor (default: %(default)s)"
    )
    given = parser.parse_args()
    changed = changed_files(ROOT, given.since)
    durations = json.loads(DURATIONS.read_text())["unit"]
    processors = os.cpu_count() or 1
    modules = read_tree()
    choice = choose(changed, modules, imports_of_tests(ROOT, modules), durations, given.seconds * processors)
    print(f"{len(changed)} files have changed: {len(choice.taken)} test files, about {choice.seconds:.0f} s of tests")
    if choice.left:
        print(f"{len(choice.left)} more import what has changed and run with make test, as {choice.left[0]}")
    if not choice.taken:
        return 0
    command = [sys.executable, "-m", "pytest", "-q", "-m", WITHOUT_JAVA, "--lanes=unit*", *choice.taken]
    code = subprocess.run(command, cwd=ROOT, env={**os.environ, "MILLRACE_RING": "2"}).returncode
    return 0 if code == 5 else code  # 5: all tests of these files need Java


if __name__ == "__main__":
    sys.exit(main())
