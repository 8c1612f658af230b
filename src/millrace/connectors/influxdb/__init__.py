"""InfluxDB: points written in its line protocol."""
