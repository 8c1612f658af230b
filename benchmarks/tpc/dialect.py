"""The queries as Flink takes them: what had to be changed in the texts, and why.

DuckDB's extensions write the specification's queries in its own dialect. Everything that is not standard, or means
another thing in Flink, is a rule here; the rest of each text stays as it is. Millrace, plain Spark and Flink get the
same text, DuckDB its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_WHOLE_NUMBERS = (
    "ss_quantity|cs_quantity|ws_quantity|sr_return_quantity|inv_quantity_on_hand|"
    "cd_dep_count|cd_dep_employed_count|cd_dep_college_count"
)
EVERYWHERE = (
    # Names are in backticks.
    (r'"([^"]+)"', r"`\1`"),
    # Mean and deviation of whole numbers are whole numbers in Flink, cut off; the specification means fractions.
    (rf"\b(avg|stddev_samp)\(({_WHOLE_NUMBERS})\)", r"\1(CAST(\2 AS DOUBLE))"),
)
"""(pattern, what takes its place), in all queries"""
SINGLE = {
    # GROUP BY does not know the names of the SELECT list.
    "tpch 15": ((r"supplier_no\n\)", r"l_suppkey\n)"),),
    # One more mean of whole numbers, under another name.
    "tpcds 27": ((r"\bavg\(agg1\)", "avg(CAST(agg1 AS DOUBLE))"),),
    # Names are the same only if their letters are.
    "tpcds 49": ((r"\bCATALOG\b", "catalog"),),
    # A date and a number do not add up.
    "tpcds 72": ((r"d1\.d_date \+ 5\b", "d1.d_date + INTERVAL '5' DAY"),),
}
"""query -> rules of its own"""


@dataclass(frozen=True)
class Query:
    """One query in both dialects."""

    name: str
    original: str
    """as DuckDB takes it"""
    text: str
    """as Flink takes it"""


def queries_in(folder: Path, benchmark: str) -> dict[str, Query]:
    """Name (such as ``tpch 15``) -> query."""
    found = {}
    for path in sorted(folder.glob("*.sql")):
        name = f"{benchmark} {int(path.stem)}"
        found[name] = adapted(name, path.read_text())
    return found


def adapted(name: str, original: str) -> Query:
    """A query with its text for Flink."""
    text = original.strip().rstrip(";")
    for pattern, replacement in (*EVERYWHERE, *SINGLE.get(name, ())):
        text = re.sub(pattern, replacement, text)
    return Query(name, original, text)
