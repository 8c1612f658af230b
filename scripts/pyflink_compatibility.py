#!/usr/bin/env python
"""Writes docs/pyflink-compatibility.md: every public name of PyFlink's DataStream API against ours.

    python scripts/pyflink_compatibility.py

What PyFlink has is in tests/data/pyflink-signatures.json (made by scripts/dump_pyflink_signatures.py); why something is
absent or different, in scripts/compatibility/reasons.py. A difference without a reason is an error.
"""

from __future__ import annotations

import sys

from compatibility.generate import TARGET, generate
from compatibility.reasons import Unexplained


def main() -> None:
    try:
        TARGET.write_text(generate(), "utf-8")
    except Unexplained as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
