# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""InfluxDB in the words of Bahir's connector; the code is in ``millrace.connectors.influxdb``."""

from __future__ import annotations

from millrace.connectors.influxdb.influxdb_streams import (
    InfluxDBConfig,
    InfluxDBConfigBuilder,
    InfluxDBPoint,
    InfluxDBSink,
)

__all__ = [
    "InfluxDBConfig",
    "InfluxDBConfigBuilder",
    "InfluxDBPoint",
    "InfluxDBSink",
]
