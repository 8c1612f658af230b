"""Connectors of tables: what CREATE TABLE ... WITH ('connector' = '...') names."""
