"""Features for a model: of each payment the user's mean and number of payments in the hour before, by SQL and pandas.

The window moves with every row (OVER); the share of large payments comes from a function of Series.
"""

from __future__ import annotations

import pandas as pd

from millrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from millrace.table.udf import udaf

# user, amount, time
PAYMENTS = """
    ('ann', 10.0, TIMESTAMP '2026-01-01 10:00:00'),
    ('ann', 30.0, TIMESTAMP '2026-01-01 10:30:00'),
    ('bob', 99.0, TIMESTAMP '2026-01-01 10:40:00'),
    ('ann', 200.0, TIMESTAMP '2026-01-01 11:10:00'),
    ('bob', 1.0, TIMESTAMP '2026-01-01 11:20:00'),
    ('ann', 5.0, TIMESTAMP '2026-01-01 13:00:00')
"""
FEATURES = """
    SELECT name, amount,
           AVG(amount) OVER w AS mean_hour,
           COUNT(*) OVER w AS n_hour,
           large_share(amount) OVER w AS large_hour
    FROM payments
    WINDOW w AS (PARTITION BY name ORDER BY at RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW)
"""


@udaf(result_type=DataTypes.DOUBLE(), func_type="pandas")
def large_share(amounts: pd.Series) -> float:
    return float((amounts > 50).mean())


def main(mode: EnvironmentSettings) -> list[str]:
    t_env = TableEnvironment.create(mode)
    t_env.create_temporary_function("large_share", large_share)
    t_env.execute_sql(f"CREATE TEMPORARY VIEW payments AS SELECT * FROM (VALUES {PAYMENTS}) AS t (name, amount, at)")
    frame = t_env.sql_query(FEATURES).to_pandas().sort_values(["name", "n_hour", "amount"])
    return [
        f"{name} {float(amount):g}: mean {float(mean):g}, {n} payments, {large:.0%} large"
        for name, amount, mean, n, large in frame.itertuples(index=False)
    ]


if __name__ == "__main__":
    print(*main(EnvironmentSettings.in_batch_mode()), sep="\n")
