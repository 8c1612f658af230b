"""Tables and a view for tests of sessions."""

SHOP = (
    "CREATE TABLE orders (id BIGINT, price DECIMAL(10, 2), `from` STRING) WITH ('connector' = 'datagen')",
    "CREATE TABLE customers (id BIGINT, name STRING) WITH ('connector' = 'datagen')",
    "CREATE VIEW cheap AS SELECT id, price FROM orders WHERE price < 10",
    "CREATE DATABASE other",
)
