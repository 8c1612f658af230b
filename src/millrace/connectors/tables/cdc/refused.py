"""Databases that Flink CDC captures and Millrace does not: refused by name, with the way that there is."""

from __future__ import annotations

from typing import NoReturn

from millrace.relational.sources import TableContext, TableFactory
from millrace.util.exceptions import TableException


class RefusedCdcFactory(TableFactory):
    """Says what to do instead: Debezium writes the changes to Kafka, and a table over the topic reads them."""

    hands_on = True
    database: str

    def source(self, table: TableContext) -> NoReturn:
        raise TableException(
            f"table {table.summary}: connector '{self.identifier}' is not in Millrace. Let Debezium write the "
            f"changes of {self.database} to Kafka, and read its topic: 'connector' = 'kafka', 'format' = "
            f"'debezium-json'"
        )


class MongoDbCdcFactory(RefusedCdcFactory):
    identifier, database = "mongodb-cdc", "MongoDB"


class OracleCdcFactory(RefusedCdcFactory):
    identifier, database = "oracle-cdc", "Oracle"


class SqlServerCdcFactory(RefusedCdcFactory):
    identifier, database = "sqlserver-cdc", "SQL Server"


class Db2CdcFactory(RefusedCdcFactory):
    identifier, database = "db2-cdc", "Db2"


class OceanBaseCdcFactory(RefusedCdcFactory):
    identifier, database = "oceanbase-cdc", "OceanBase"


class TiDbCdcFactory(RefusedCdcFactory):
    identifier, database = "tidb-cdc", "TiDB (or TiCDC)"


class VitessCdcFactory(RefusedCdcFactory):
    identifier, database = "vitess-cdc", "Vitess"
