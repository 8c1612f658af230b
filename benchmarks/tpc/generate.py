"""Makes the tables and the texts of the queries with DuckDB's extensions; needs nothing but DuckDB and these.

    python generate.py FOLDER SCALE

Writes ``FOLDER/sf<SCALE>/<benchmark>/<table>.parquet`` and ``FOLDER/queries/<benchmark>/<number>.sql``. The extensions
lie in packages of PyPI (``duckdb-extension-tpch``, ``-tpcds``) for one version of DuckDB each, so this runs in an
environment of its own.
"""

import importlib
import os
import sys

import duckdb

GENERATORS = {"tpch": "dbgen", "tpcds": "dsdgen"}


def main(folder: str, scale: str) -> None:
    for benchmark, generator in GENERATORS.items():
        with duckdb.connect() as connection:
            connection.execute(f"LOAD '{_extension(benchmark)}'")
            connection.execute(f"CALL {generator}(sf={float(scale)})")
            target = os.path.join(folder, f"sf{scale}", benchmark)
            os.makedirs(target, exist_ok=True)
            for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
                connection.execute(f"COPY {table} TO '{target}/{table}.parquet'")
            texts = os.path.join(folder, "queries", benchmark)
            os.makedirs(texts, exist_ok=True)
            for number, text in connection.execute(f"SELECT query_nr, query FROM {benchmark}_queries()").fetchall():
                with open(os.path.join(texts, f"{number:02}.sql"), "w") as file:
                    file.write(text)


def _extension(benchmark: str) -> str:
    package = importlib.import_module(f"duckdb_extension_{benchmark}")
    version = f"v{duckdb.__version__}"
    return os.path.join(next(iter(package.__path__)), "extensions", version, f"{benchmark}.duckdb_extension")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
