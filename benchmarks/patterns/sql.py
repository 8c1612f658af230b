"""The SQL job of ``benchmarks.cep``: a PyFlink program that both sides run, from CSV files into CSV files.

python sql.py INPUT OUTPUT        or, to collect the rows instead:        python sql.py INPUT -
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "nexmark"))

from cpu import cpu_seconds
from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment

COLUMNS = "`key` BIGINT, name STRING, price BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"
QUERY = """
SELECT `key`, a, c FROM events MATCH_RECOGNIZE (
  PARTITION BY `key` ORDER BY ts MEASURES FIRST(F.ts) AS a, LAST(F.ts) AS c ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW PATTERN (F{3}) WITHIN INTERVAL '10' SECOND DEFINE F AS F.name = 'fail')
"""


def main():
    source, output = sys.argv[1:3]
    configuration = Configuration()
    configuration.set_string("parallelism.default", "2")
    settings = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    session = TableEnvironment.create(settings)
    files = "'connector' = 'filesystem', 'format' = 'csv', 'path' = "
    session.execute_sql(f"CREATE TABLE events ({COLUMNS}) WITH ({files} '{source}')")
    if output == "-":
        count = 0
        with session.execute_sql(QUERY).collect() as rows:
            for _ in rows:
                count += 1
        print(f"matches {count}")
    else:
        kept = "`key` BIGINT, a TIMESTAMP(3), c TIMESTAMP(3)"
        session.execute_sql(f"CREATE TABLE found ({kept}) WITH ({files} '{output}')")
        session.execute_sql(f"INSERT INTO found {QUERY}").wait()
    print(f"processor {cpu_seconds()}")


if __name__ == "__main__":
    main()
