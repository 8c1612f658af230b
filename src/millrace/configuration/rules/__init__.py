"""What becomes of Flink's configuration keys, by their topics."""
