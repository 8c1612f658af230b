CREATE TABLE x (a INT, b STRING)
CREATE TABLE IF NOT EXISTS users (a INT)
CREATE TABLE x (a INT) WITH ('connector' = 'blackhole') ;; SHOW TABLES LIKE 'x'
CREATE TEMPORARY TABLE x (a INT) WITH ('connector' = 'blackhole') ;; DROP TEMPORARY TABLE x ;; SHOW TABLES LIKE 'x'
CREATE OR REPLACE TABLE x AS SELECT 1 AS a
CREATE TABLE x (a INT) WITH ('connector' = 'blackhole') ;; REPLACE TABLE x WITH ('connector' = 'blackhole') AS SELECT 1 AS a
CREATE TABLE x WITH ('connector' = 'blackhole') AS SELECT user_id, name FROM users ;; DESCRIBE x
CREATE TABLE x (c INT, d AS c + 1, PRIMARY KEY (user_id) NOT ENFORCED) WITH ('connector' = 'blackhole') AS SELECT user_id, name FROM users WHERE user_id IS NOT NULL ;; DESCRIBE x
CREATE TABLE x (name, user_id) WITH ('connector' = 'blackhole') AS SELECT user_id, name FROM users ;; DESCRIBE x
CREATE TABLE x (a INT METADATA FROM 'k' VIRTUAL, b INT) WITH ('connector' = 'blackhole') ;; DESCRIBE x
CREATE TABLE x (a INT NOT NULL, b AS a * 2 COMMENT 'twice', ts TIMESTAMP(3) COMMENT 'when', WATERMARK FOR ts AS ts - INTERVAL '1' SECOND, PRIMARY KEY (a) NOT ENFORCED) COMMENT 'all' WITH ('connector' = 'blackhole') ;; DESCRIBE x
CREATE TABLE x (a INT, p STRING) PARTITIONED BY (p) WITH ('connector' = 'blackhole') ;; DESCRIBE EXTENDED x
CREATE TABLE x (a INT, b INT) DISTRIBUTED BY HASH(a) INTO 4 BUCKETS WITH ('connector' = 'blackhole') ;; DESCRIBE x
CREATE TABLE x (a INT, b INT) DISTRIBUTED INTO 4 BUCKETS WITH ('connector' = 'blackhole') ;; SHOW COLUMNS FROM x
CREATE TABLE x (a INT, b INT) DISTRIBUTED BY RANGE(a, b) WITH ('connector' = 'blackhole') ;; SHOW COLUMNS FROM x LIKE 'a%'
CREATE TABLE x LIKE users ;; DESCRIBE x
CREATE TABLE x (more INT) WITH ('format' = 'csv') LIKE users (EXCLUDING ALL INCLUDING OPTIONS OVERWRITING OPTIONS) ;; DESCRIBE x
CREATE TABLE x WITH ('connector' = 'blackhole') LIKE orders (EXCLUDING WATERMARKS) ;; DESCRIBE x
CREATE TABLE x (a INT) WITH ('connector' = 'blackhole') ;; ALTER TABLE x RENAME TO y ;; SHOW TABLES LIKE 'y'
CREATE TABLE x (a INT) WITH ('connector' = 'blackhole') ;; ALTER TABLE IF EXISTS x SET ('connector' = 'print') ;; DESCRIBE x
CREATE TABLE x (a INT) WITH ('connector' = 'blackhole', 'property-version' = '1') ;; ALTER TABLE x RESET ('property-version') ;; DESCRIBE x
CREATE TABLE x (a INT) WITH ('connector' = 'blackhole') ;; ALTER TABLE x ADD b INT ;; DESCRIBE x
CREATE TABLE x (a INT) WITH ('connector' = 'blackhole') ;; ALTER TABLE x ADD (b INT FIRST, c STRING COMMENT 'text' AFTER a, PRIMARY KEY (a) NOT ENFORCED) ;; DESCRIBE x
CREATE TABLE x (a INT, ts TIMESTAMP(3)) WITH ('connector' = 'blackhole') ;; ALTER TABLE x ADD WATERMARK FOR ts AS ts ;; DESCRIBE x
CREATE TABLE x (a INT) WITH ('connector' = 'blackhole') ;; ALTER TABLE x MODIFY a BIGINT COMMENT 'long' ;; DESCRIBE x
CREATE TABLE x (a INT, b INT) WITH ('connector' = 'blackhole') ;; ALTER TABLE x MODIFY (a BIGINT AFTER b, b STRING) ;; DESCRIBE x
CREATE TABLE x (a INT, b INT) WITH ('connector' = 'blackhole') ;; ALTER TABLE x DROP a ;; DESCRIBE x
CREATE TABLE x (a INT, b INT, c INT) WITH ('connector' = 'blackhole') ;; ALTER TABLE x DROP (a, b) ;; DESCRIBE x
CREATE TABLE x (a INT, PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'blackhole') ;; ALTER TABLE x DROP PRIMARY KEY ;; DESCRIBE x
CREATE TABLE x (a INT, CONSTRAINT k PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'blackhole') ;; ALTER TABLE x DROP CONSTRAINT k ;; DESCRIBE x
CREATE TABLE x (ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'blackhole') ;; ALTER TABLE x DROP WATERMARK ;; DESCRIBE x
CREATE TABLE x (a INT, b INT) WITH ('connector' = 'blackhole') ;; ALTER TABLE x RENAME a TO z ;; DESCRIBE x
CREATE TABLE x (a INT, b INT) WITH ('connector' = 'blackhole') ;; ALTER TABLE x ADD DISTRIBUTION BY HASH(a) INTO 3 BUCKETS ;; DESCRIBE x
CREATE TABLE x (a INT, b INT) DISTRIBUTED BY HASH(a) INTO 4 BUCKETS WITH ('connector' = 'blackhole') ;; ALTER TABLE x MODIFY DISTRIBUTION BY HASH(b) INTO 5 BUCKETS ;; DESCRIBE x
CREATE TABLE x (a INT, b INT) DISTRIBUTED BY HASH(a) INTO 4 BUCKETS WITH ('connector' = 'blackhole') ;; ALTER TABLE x DROP DISTRIBUTION ;; DESCRIBE x
CREATE TABLE x (a INT, p STRING) PARTITIONED BY (p) WITH ('connector' = 'filesystem', 'path' = '{tmp}/x', 'format' = 'json') ;; ALTER TABLE x ADD PARTITION (p = 'q') ;; SHOW PARTITIONS x
CREATE TABLE x (a INT, p STRING) PARTITIONED BY (p) WITH ('connector' = 'filesystem', 'path' = '{tmp}/x', 'format' = 'json') ;; ALTER TABLE x ADD IF NOT EXISTS PARTITION (p = 'q') WITH ('k' = 'v') PARTITION (p = 'r') ;; SHOW PARTITIONS x PARTITION (p = 'r')
CREATE TABLE x (a INT, p STRING) PARTITIONED BY (p) WITH ('connector' = 'filesystem', 'path' = '{tmp}/x', 'format' = 'json') ;; ALTER TABLE x DROP IF EXISTS PARTITION (p = 'q') ;; SHOW PARTITIONS x
DROP TABLE IF EXISTS missing
DROP TABLE users ;; SHOW TABLES LIKE 'users'
SHOW TABLES
SHOW TABLES LIKE '%r%'
SHOW TABLES NOT LIKE '%r%'
SHOW TABLES ILIKE 'U%'
SHOW TABLES NOT ILIKE 'U%'
SHOW TABLES FROM default_catalog.default_database LIKE 'users'
SHOW TABLES IN default_database LIKE 'users'
SHOW COLUMNS FROM users
SHOW COLUMNS IN users LIKE 'n%'
SHOW COLUMNS FROM users NOT LIKE 'n%'
DESCRIBE users
DESC users
DESCRIBE EXTENDED users
DESCRIBE orders
