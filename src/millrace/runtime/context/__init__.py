"""What a user function has around it: its context, metrics, accumulators and global aggregates."""
