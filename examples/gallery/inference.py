"""Streaming inference: a model of scikit-learn scores flowers in batches, as a function of Series.

The model is trained once, here in the program, and travels to the workers; there it sees a batch of rows at a time.
"""

from __future__ import annotations

import pandas as pd
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from millrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from millrace.table.expressions import col
from millrace.table.udf import udf

IRIS = load_iris()
MODEL = LogisticRegression(max_iter=1000).fit(IRIS.data, IRIS.target)
NAMES = [str(name) for name in IRIS.target_names]


@udf(result_type=DataTypes.STRING(), func_type="pandas")
def species(*features: pd.Series) -> pd.Series:
    found = MODEL.predict(pd.concat(features, axis=1).to_numpy())
    return pd.Series([NAMES[each] for each in found])


def main(mode: EnvironmentSettings) -> list[tuple[str, int]]:
    t_env = TableEnvironment.create(mode)
    rows = [(*map(float, row), NAMES[kind]) for row, kind in zip(IRIS.data, IRIS.target)]
    flowers = t_env.from_elements(rows, ["a", "b", "c", "d", "truth"])
    scored = flowers.select(species(col("a"), col("b"), col("c"), col("d")).alias("species"), col("truth"))
    right = scored.where(col("species") == col("truth"))
    counted = right.group_by(col("species")).select(col("species"), col("truth").count.alias("n"))
    frame = counted.to_pandas().sort_values("species")
    return [(str(name), int(n)) for name, n in zip(frame["species"], frame["n"])]


if __name__ == "__main__":
    for name, n in main(EnvironmentSettings.in_streaming_mode()):
        print(f"{name}: {n} of 50 right")
