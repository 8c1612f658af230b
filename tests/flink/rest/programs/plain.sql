-- Runs until it is cancelled; without checkpoints.
SET 'pipeline.name' = 'plain copy';
CREATE TEMPORARY TABLE numbers (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '5');
CREATE TEMPORARY TABLE nowhere (n INT) WITH ('connector' = 'blackhole');
INSERT INTO nowhere SELECT n + 1 FROM numbers
