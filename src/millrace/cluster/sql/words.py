"""Words that the prompt knows: for completion and colours."""

from __future__ import annotations

from millrace.table.sql.grammar.keywords import CLAUSES, RESERVED, UNITS

STATEMENTS = (
    *("SELECT", "WITH", "VALUES", "INSERT", "EXECUTE", "BEGIN", "EXPLAIN"),
    *("CREATE", "ALTER", "DROP", "SHOW", "DESCRIBE", "SUMMARIZE", "USE", "LOAD", "UNLOAD"),
    *("SET", "RESET", "STOP", "HELP", "CLEAR", "QUIT", "EXIT"),
)
"""What a statement begins with."""

NEXT = {
    "SHOW": (
        *("TABLES", "VIEWS", "FUNCTIONS", "USER FUNCTIONS", "CATALOGS", "DATABASES", "COLUMNS", "PARTITIONS"),
        *("CURRENT CATALOG", "CURRENT DATABASE", "MODULES", "FULL MODULES", "MODELS", "JOBS", "JARS"),
        *("CREATE TABLE", "CREATE VIEW", "CREATE CATALOG", "CREATE MODEL"),
    ),
    "CREATE": (
        *("TABLE", "TEMPORARY TABLE", "VIEW", "TEMPORARY VIEW", "DATABASE", "CATALOG", "MODEL"),
        *("FUNCTION", "TEMPORARY FUNCTION", "TEMPORARY SYSTEM FUNCTION"),
    ),
    "DROP": (
        *("TABLE", "TEMPORARY TABLE", "VIEW", "TEMPORARY VIEW", "DATABASE", "CATALOG", "MODEL"),
        *("FUNCTION", "TEMPORARY FUNCTION"),
    ),
    "ALTER": ("TABLE", "VIEW", "DATABASE", "FUNCTION", "CATALOG", "MODEL"),
    "INSERT": ("INTO", "OVERWRITE"),
    "EXPLAIN": (
        "PLAN FOR",
        "ESTIMATED_COST",
        "CHANGELOG_MODE",
        "JSON_EXECUTION_PLAN",
        "PLAN_ADVICE",
        "SELECT",
        "INSERT",
    ),
    "EXECUTE": ("STATEMENT SET BEGIN", "INSERT"),
    "BEGIN": ("STATEMENT SET;",),
    "USE": ("CATALOG", "MODULES"),
    "LOAD": ("MODULE",),
    "UNLOAD": ("MODULE",),
    "STOP": ("JOB",),
}
"""What comes after the first word."""

_TYPES = """
    BOOLEAN TINYINT SMALLINT INT INTEGER BIGINT FLOAT DOUBLE DECIMAL NUMERIC CHAR VARCHAR STRING BINARY VARBINARY BYTES
    DATE TIME TIMESTAMP TIMESTAMP_LTZ ARRAY MAP MULTISET ROW RAW INTERVAL VARIANT
"""
TYPES = frozenset(_TYPES.split())

_MORE = """
    WATERMARK ENFORCED METADATA VIRTUAL COMMENT PARTITIONED DISTRIBUTED TEMPORARY SYSTEM FUNCTION LANGUAGE PYTHON
    CATALOG DATABASE DATABASES CATALOGS TABLES VIEW VIEWS FUNCTIONS IF EXISTS INTO OVERWRITE CONSTRAINT KEY TABLE
    STATEMENT JOB
    JOBS SAVEPOINT DRAIN PLAN DESCRIPTOR TUMBLE HOP CUMULATE SESSION PRECEDING FOLLOWING UNBOUNDED CURRENT ROWS RANGE
    ASC DESC NULLS FIRST LAST SYSTEM_TIME OF USE SHOW EXPLAIN ALTER RENAME ADD MODIFY RESET
"""

KEYWORDS = RESERVED | CLAUSES | UNITS | frozenset(_MORE.split()) | frozenset(STATEMENTS)
"""Everything that is not a name of the user's."""

OPTIONS = {
    "execution.runtime-mode": ("streaming", "batch"),
    "execution.checkpointing.interval": ("10s",),
    "execution.checkpointing.dir": (),
    "execution.checkpointing.savepoint-dir": (),
    "execution.state-recovery.path": (),
    "parallelism.default": (),
    "pipeline.name": (),
    "pipeline.max-parallelism": (),
    "restart-strategy.type": ("fixed-delay", "exponential-delay", "failure-rate", "none"),
    "sql-client.execution.result-mode": ("tableau", "table", "changelog"),
    "sql-client.execution.max-table-result.rows": (),
    "sql-client.verbose": ("true", "false"),
    "sql-client.display.print-time-cost": ("true", "false"),
    "state.backend.type": ("hashmap", "rocksdb"),
    "table.display.max-column-width": (),
    "table.dml-sync": ("true", "false"),
    "table.exec.source.idle-timeout": (),
    "table.exec.state.ttl": ("1 h", "1 d"),
    "table.local-time-zone": ("UTC",),
    "table.optimizer.agg-phase-strategy": ("AUTO", "TWO_PHASE", "ONE_PHASE"),
    "table.optimizer.distinct-agg.split.enabled": ("true", "false"),
}
"""Keys that SET is likely to be used with, and values that they have."""
