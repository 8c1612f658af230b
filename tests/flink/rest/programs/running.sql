-- Runs until it is cancelled; has state, watermarks and checkpoints.
SET 'pipeline.name' = 'clicks by user';
SET 'parallelism.default' = '2';
SET 'execution.checkpointing.interval' = '1 s';
CREATE TEMPORARY TABLE clicks (who INT, page STRING, happened AS LOCALTIMESTAMP, WATERMARK FOR happened AS happened)
    WITH ('connector' = 'datagen', 'rows-per-second' = '20', 'fields.who.min' = '1', 'fields.who.max' = '10');
CREATE TEMPORARY TABLE counts (who INT, n BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO counts SELECT who, COUNT(*) FROM clicks GROUP BY who
