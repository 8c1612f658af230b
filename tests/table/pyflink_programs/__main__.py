"""Runs the programs on whatever ``pyflink`` is there, so that PyFlink itself can confirm what they are to print.

PYTHONPATH=. pyflink-env/bin/python -m tests.table.pyflink_programs [NAME]...
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import traceback

from tests.table.pyflink_programs.expected import load, settled


def main(names: list[str]) -> int:
    logging.disable(logging.CRITICAL)
    wrong = 0
    with tempfile.TemporaryFile() as output:
        report = os.fdopen(os.dup(1), "w")
        # The JVM of PyFlink prints, too, and inherits the descriptor.
        os.dup2(output.fileno(), 1)
        for name, (program, wanted) in load().items():
            if names and not any(part in name for part in names):
                continue
            output.seek(0, os.SEEK_END)
            start = output.tell()
            error = ""
            try:
                program()
            except Exception:
                error = traceback.format_exc(limit=-1)[-2000:]
            sys.stdout.flush()
            output.seek(start)
            printed = output.read().decode()
            good = not error and settled(printed) == settled(wanted)
            wrong += not good
            print(f"{name}: {'as it should' if good else f'DIFFERS{chr(10)}{printed}{error}'}", file=report, flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
