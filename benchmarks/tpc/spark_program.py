"""The queries in plain Spark SQL, with its defaults; needs nothing but PySpark.

    python spark_program.py WORK.json

WORK.json has the files of the tables and the texts of the queries. Prints a line for each query: its name, and the
seconds from its text to its last row, or what Spark says of it.
"""

import json
import os
import sys
import time

from pyspark.sql import SparkSession


def main():
    with open(sys.argv[1]) as file:
        work = json.load(file)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(f"local[{work['parallelism']}]").config("spark.ui.enabled", "false")
    for key, value in work["spark"].items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for name, path in work["tables"].items():
        spark.read.parquet(path).createOrReplaceTempView(name)
    spark.sql(work["first"]).collect()
    for _ in range(work["turns"]):
        for name, text in work["queries"].items():
            begin = time.perf_counter()
            try:
                spark.sql(text).collect()
                print(f"{name}\t{time.perf_counter() - begin:.4f}", flush=True)
            except Exception as error:
                print(f"{name}\tfailed: {str(error).splitlines()[0][:200]}", flush=True)


if __name__ == "__main__":
    main()
