"""Which class of Java opens a ``jdbc:`` URL."""

from __future__ import annotations

from collections.abc import Mapping

_BY_URL: Mapping[str, str] = {
    "jdbc:as400:": "com.ibm.as400.access.AS400JDBCDriver",
    "jdbc:clickhouse:": "com.clickhouse.jdbc.ClickHouseDriver",
    "jdbc:databricks:": "com.databricks.client.jdbc.Driver",
    "jdbc:db2:": "com.ibm.db2.jcc.DB2Driver",
    "jdbc:derby://": "org.apache.derby.client.ClientAutoloadedDriver",
    "jdbc:derby:": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
    "jdbc:exa:": "com.exasol.jdbc.EXADriver",
    "jdbc:firebirdsql:": "org.firebirdsql.jdbc.FBDriver",
    "jdbc:h2:": "org.h2.Driver",
    "jdbc:hive2:": "org.apache.hive.jdbc.HiveDriver",
    "jdbc:hsqldb:": "org.hsqldb.jdbc.JDBCDriver",
    "jdbc:impala:": "com.cloudera.impala.jdbc.Driver",
    "jdbc:informix-sqli:": "com.informix.jdbc.IfxDriver",
    "jdbc:kylin:": "org.apache.kylin.jdbc.Driver",
    "jdbc:oceanbase:": "com.oceanbase.jdbc.Driver",
    "jdbc:oracle:": "oracle.jdbc.OracleDriver",
    "jdbc:phoenix:": "org.apache.phoenix.jdbc.PhoenixDriver",
    "jdbc:presto:": "com.facebook.presto.jdbc.PrestoDriver",
    "jdbc:redshift:": "com.amazon.redshift.jdbc42.Driver",
    "jdbc:sap:": "com.sap.db.jdbc.Driver",
    "jdbc:snowflake:": "net.snowflake.client.jdbc.SnowflakeDriver",
    "jdbc:sqlserver:": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
    "jdbc:teradata:": "com.teradata.jdbc.TeraDriver",
    "jdbc:trino:": "io.trino.jdbc.TrinoDriver",
    "jdbc:vertica:": "com.vertica.jdbc.Driver",
}


def driver_of(url: str) -> str | None:
    """Java's own way finds no drivers in jars that come with a job, so their classes have to be named."""
    return next((name for begin, name in _BY_URL.items() if url.lower().startswith(begin)), None)


def kind_of(url: str) -> str:
    """What a URL begins with: ``jdbc:oracle:``."""
    return ":".join(url.split(":", 2)[:2]).lower() + ":"
