"""What takes a whole query to show: order, OVER, windows, changelogs."""

from __future__ import annotations

from .entry import Entry

_HOURS = "FROM t GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)"

TOPICS = {
    "Order, OVER, windows": (
        Entry("asc", "SELECT a FROM t ORDER BY ts ASC", "upwards; in streaming by the time attribute first"),
        Entry("desc", "SELECT a, ROW_NUMBER() OVER (PARTITION BY b ORDER BY ts DESC) AS n FROM t", "downwards"),
        Entry("over", "SELECT a, SUM(a) OVER (PARTITION BY b ORDER BY ts) AS total FROM t", "an aggregate of the rows up to each"),
        Entry("lag", "SELECT a, LAG(a, 1, 0) OVER (PARTITION BY b ORDER BY ts) AS earlier FROM t", "the value some rows earlier, else a default"),
        Entry("lead", "SELECT a, LEAD(a, 1, 0) OVER (PARTITION BY b ORDER BY ts) AS later FROM t", "the value some rows later, else a default"),
        Entry("start", f"SELECT TUMBLE_START(ts, INTERVAL '1' HOUR) AS w, SUM(a) AS total {_HOURS}", "where the window of a group begins"),
        Entry("end", f"SELECT TUMBLE_END(ts, INTERVAL '1' HOUR) AS w, SUM(a) AS total {_HOURS}", "where it ends"),
        Entry("rowtime", f"SELECT TUMBLE_ROWTIME(ts, INTERVAL '1' HOUR) AS w {_HOURS}", "its last millisecond, as a time attribute"),
        Entry(
            "ASSIGNMENT",
            "SELECT a, window_start FROM TABLE(TUMBLE(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' HOUR))",
            "`=>` gives an argument by its name",
        ),
    ),
    "Changelogs as rows": (
        Entry("TO_CHANGELOG", "SELECT op, a FROM TO_CHANGELOG(input => TABLE t)", "each change as a row, with its kind in a column"),
        Entry("FROM_CHANGELOG", "SELECT * FROM FROM_CHANGELOG(input => TABLE log)", "back from that"),
    ),
}  # fmt: skip
