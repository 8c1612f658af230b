"""Tables of stores: MongoDB, HBase, ClickHouse, InfluxDB and others."""
