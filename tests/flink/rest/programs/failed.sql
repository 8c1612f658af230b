-- Divides by zero at its thirtieth row and is not restarted.
SET 'pipeline.name' = 'divides by zero';
SET 'execution.checkpointing.interval' = '1 s';
SET 'restart-strategy.type' = 'none';
CREATE TEMPORARY TABLE numbers (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '10',
    'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '60');
CREATE TEMPORARY TABLE nowhere (n INT) WITH ('connector' = 'blackhole');
INSERT INTO nowhere SELECT 100 / (n - 30) FROM numbers
