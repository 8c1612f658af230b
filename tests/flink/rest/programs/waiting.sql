-- Wants more slots than the cluster has, so that its tasks wait.
SET 'pipeline.name' = 'waits for slots';
SET 'parallelism.default' = '100';
CREATE TEMPORARY TABLE numbers (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '5');
CREATE TEMPORARY TABLE nowhere (n INT) WITH ('connector' = 'blackhole');
INSERT INTO nowhere SELECT n + 1 FROM numbers
