-- Fails at once, again and again; after the second failure it waits for an hour or so.
SET 'pipeline.name' = 'fails again';
SET 'execution.checkpointing.interval' = '1 s';
SET 'restart-strategy.type' = 'exponential-delay';
SET 'restart-strategy.exponential-delay.initial-backoff' = '1 s';
SET 'restart-strategy.exponential-delay.backoff-multiplier' = '3600';
SET 'restart-strategy.exponential-delay.max-backoff' = '1 h';
SET 'restart-strategy.exponential-delay.jitter-factor' = '0';
CREATE TEMPORARY TABLE numbers (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '10',
    'fields.n.min' = '1', 'fields.n.max' = '1');
CREATE TEMPORARY TABLE nowhere (n INT) WITH ('connector' = 'blackhole');
INSERT INTO nowhere SELECT 100 / (n - 1) FROM numbers
