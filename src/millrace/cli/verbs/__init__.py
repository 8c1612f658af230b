"""Commands for jobs that run elsewhere: list, cancel, stop, savepoint, checkpoint; with Flink's texts."""
