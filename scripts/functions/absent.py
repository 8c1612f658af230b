"""Why functions that PyFlink lists are not there, and what to do without them."""

from __future__ import annotations

ABSENT: dict[str, str] = {
    "AGG_DECIMAL_MINUS": "a step of Flink's planner inside of AVG and SUM of DECIMAL; nobody writes it",
    "AGG_DECIMAL_PLUS": "a step of Flink's planner inside of AVG and SUM of DECIMAL; nobody writes it",
    "HIVE_AGG_DECIMAL_PLUS": "a step of Flink's planner for Hive's SUM of DECIMAL; nobody writes it",
    "reinterpretCast": "a step of Flink's planner between types of one physical form; use CAST",
    "streamRecordTimestamp": "a step of Flink's planner that reads the timestamp of a DataStream's elements; declare a "
    "METADATA column `rowtime` in the Schema of from_data_stream",
    "DEFAULT": "stands for an argument of a named call that is left out; leave it out",
    "ML_PREDICT": "models are kept in the catalog but not called; call the model in a function made with udf()",
}
