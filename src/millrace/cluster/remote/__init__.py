"""Jobs of other processes: steering them over their sockets."""
