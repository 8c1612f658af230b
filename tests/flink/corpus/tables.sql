CREATE TABLE t (
  b BOOLEAN, ti TINYINT, si SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, dc DECIMAL(10, 2), big DECIMAL(38, 10),
  s STRING, v STRING, n STRING, bs BYTES, dt DATE, tm TIME(0), ts TIMESTAMP(3), ts6 TIMESTAMP(6), ltz TIMESTAMP_LTZ(3),
  ai ARRAY<INT>, sa ARRAY<STRING>, m MAP<STRING, INT>, r ROW<x INT, y STRING>, j STRING
) WITH ('connector' = 'filesystem', 'path' = '{data}/t.jsonl', 'format' = 'json');

CREATE TABLE orders (
  id INT, user_id INT, product STRING, amount INT, price DECIMAL(10, 2), ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/orders.jsonl', 'format' = 'json');

CREATE TABLE users (user_id INT, name STRING, city STRING)
WITH ('connector' = 'filesystem', 'path' = '{data}/users.jsonl', 'format' = 'json');

CREATE TABLE clicks (user_id INT, page STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND)
WITH ('connector' = 'filesystem', 'path' = '{data}/clicks.jsonl', 'format' = 'json');

CREATE TABLE changing (k INT, c STRING, a INT)
WITH ('connector' = 'filesystem', 'path' = '{data}/changing.jsonl', 'format' = 'debezium-json');

CREATE TABLE rates (
  currency STRING, rate DECIMAL(10, 4), ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND, PRIMARY KEY (currency) NOT ENFORCED
) WITH ('connector' = 'filesystem', 'path' = '{data}/rates.jsonl', 'format' = 'debezium-json');

CREATE TABLE nothing (k INT, c STRING, a DOUBLE)
WITH ('connector' = 'filesystem', 'path' = '{data}/nothing.jsonl', 'format' = 'json');

CREATE TABLE numbers (k INT, x INT, y DOUBLE, z DECIMAL(10, 2), w STRING)
WITH ('connector' = 'filesystem', 'path' = '{data}/numbers.jsonl', 'format' = 'json');

CREATE TABLE ticks (
  id INT, symbol STRING, price INT, tax DOUBLE, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/ticks.jsonl', 'format' = 'json');

CREATE TABLE acts (
  id INT, user_id INT, kind STRING, amount INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/acts.jsonl', 'format' = 'json');
