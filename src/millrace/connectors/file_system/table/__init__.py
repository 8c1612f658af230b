"""Tables of files, ``'connector' = 'filesystem'``: formats, partitions, reading, writing."""
