-- Ends by itself after six seconds and a few checkpoints.
SET 'pipeline.name' = 'sixty rows';
SET 'execution.checkpointing.interval' = '1 s';
CREATE TEMPORARY TABLE numbers (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '10',
    'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '60');
CREATE TEMPORARY TABLE sums (bucket INT, total BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO sums SELECT MOD(n, 3), SUM(CAST(n AS BIGINT)) FROM numbers GROUP BY MOD(n, 3)
