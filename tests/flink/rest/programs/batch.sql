-- A batch job that ends at once.
SET 'pipeline.name' = 'batch counts';
SET 'execution.runtime-mode' = 'batch';
CREATE TEMPORARY TABLE numbers (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '100');
CREATE TEMPORARY TABLE counts (bucket INT, n BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO counts SELECT MOD(n, 3), COUNT(*) FROM numbers GROUP BY MOD(n, 3)
