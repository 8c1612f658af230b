#!/usr/bin/env python
"""Writes docs/sql-functions.md: every built-in function of Flink, how it is called here, and what is absent.

    python -m scripts.sql_functions

The calls are in scripts/functions/; tests/relational/functions/test_coverage.py makes each of them.
"""

from __future__ import annotations

from scripts.functions.page import TARGET, page


def main() -> None:
    TARGET.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
