"""Log analytics: lines of a web server's log become rows; per minute the share of errors, and the slowest page.

Regular expressions take the lines apart in SQL, windows count, and ROW_NUMBER picks the slowest.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from millrace.table import EnvironmentSettings, TableEnvironment

LOG = """\
2026-01-01T10:00:01 GET /home 200 12ms
2026-01-01T10:00:20 GET /cart 500 340ms
2026-01-01T10:00:40 GET /home 200 15ms
this line is broken
2026-01-01T10:01:05 POST /order 503 2100ms
2026-01-01T10:01:06 GET /home 200 11ms
2026-01-01T10:01:59 POST /order 500 1800ms
"""
_PATTERN = r"^(\\S+) (\\S+) (\\S+) (\\d+) (\\d+)ms$".replace("\\\\", "\\")
STATEMENTS = [
    "CREATE TABLE lines (line STRING) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'raw')",
    f"""
    CREATE TEMPORARY VIEW requests AS
    SELECT TO_TIMESTAMP(REGEXP_EXTRACT(line, '{_PATTERN}', 1), 'yyyy-MM-dd''T''HH:mm:ss') AS at,
           REGEXP_EXTRACT(line, '{_PATTERN}', 3) AS page,
           CAST(REGEXP_EXTRACT(line, '{_PATTERN}', 4) AS INT) AS status,
           CAST(REGEXP_EXTRACT(line, '{_PATTERN}', 5) AS INT) AS millis
    FROM lines WHERE REGEXP(line, '{_PATTERN}')
    """,
]
ERRORS = """
    SELECT DATE_FORMAT(FLOOR(at TO MINUTE), 'HH:mm') AS minutes, COUNT(*) AS requests,
           SUM(CASE WHEN status >= 500 THEN 1 ELSE 0 END) AS errors
    FROM requests GROUP BY FLOOR(at TO MINUTE)
"""
SLOWEST = """
    SELECT page, millis FROM (
        SELECT page, millis, ROW_NUMBER() OVER (PARTITION BY page ORDER BY millis DESC) AS n FROM requests
    ) WHERE n = 1
"""


def main(mode: EnvironmentSettings, path: Path) -> list[str]:
    t_env = TableEnvironment.create(mode)
    for statement in STATEMENTS:
        t_env.execute_sql(statement.replace("{path}", path.as_uri()))
    errors = t_env.sql_query(ERRORS).to_pandas().sort_values("minutes").itertuples(index=False)
    slowest = t_env.sql_query(SLOWEST).to_pandas().sort_values("millis").itertuples(index=False)
    return [
        *(f"{minute}: {failed} of {requests} failed" for minute, requests, failed in errors),
        *(f"{page}: up to {millis} ms" for page, millis in slowest),
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "access.log").write_text(LOG)
        print(*main(EnvironmentSettings.in_streaming_mode(), Path(folder)), sep="\n")
