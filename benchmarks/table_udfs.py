"""Python functions in SQL: what a row costs Millrace and PyFlink, in processor time beyond the start.

    python -m benchmarks.table_udfs [--pyflink-python pyflink-env/bin/python]

Both sides run the same program (``pyflink_table_udfs.py``) from ``datagen`` into ``blackhole``, with a parallelism of
two: scalar functions of rows and of Series, a table function, an aggregate function by 1,000 keys, and one of Series
in batch mode and in windows; in batch mode a function of Series (``batch``) and the table function, too. PyFlink runs
in thread mode where it can (scalar and table functions of rows), its fastest. Sides take turns; with ``--rows`` the
larger input is 1,000,000 rows unless told otherwise, for both.
"""

from __future__ import annotations

import argparse
import os
import sys

from benchmarks.processor_time import Side, adopt_orphans, compare, measured, told

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pyflink_table_udfs.py")
FUNCTIONS = ("row", "table", "aggregate", "pandas", "pandas-aggregate", "pandas-window", "batch", "table-batch")


def side(name: str, interpreter: list[str], function: str, rows: int) -> Side:
    return Side(name, lambda rows: measured([*interpreter, PROGRAM, function, str(rows)]).processor, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pyflink-python", metavar="PYTHON", help="interpreter with apache-flink installed")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the large input")
    parser.add_argument("--pyflink-rows", type=int, help="the same for PyFlink, if it shall be another number")
    parser.add_argument("--few", type=int, default=1_000, help="rows of the run that stands for the start")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("functions", nargs="*", default=FUNCTIONS, metavar="FUNCTION", help=", ".join(FUNCTIONS))
    given = parser.parse_args()
    if not set(given.functions) <= set(FUNCTIONS):
        parser.error(f"functions are {', '.join(FUNCTIONS)}")
    adopt_orphans()
    for function in given.functions:
        sides = [side("Millrace", [sys.executable, "-m", "millrace", "run", "--pyflink"], function, given.rows)]
        if given.pyflink_python:
            sides.insert(0, side("PyFlink", [given.pyflink_python], function, given.pyflink_rows or given.rows))
        compare(function, sides, given.few, given.runs)
    print(told())


if __name__ == "__main__":
    main()
