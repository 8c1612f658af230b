"""Prints the folder of the jars that some cases need on PyFlink: Avro, Parquet and Hadoop's client."""

from __future__ import annotations

from millrace.testing.services.downloads import jars

WANTED = (
    "org.apache.flink:flink-sql-avro:2.3.0",
    "org.apache.flink:flink-sql-parquet:2.3.0",
    "org.apache.hadoop:hadoop-client-runtime:3.5.0",
)


def main() -> None:
    print(jars("dropin", *WANTED))


if __name__ == "__main__":
    main()
