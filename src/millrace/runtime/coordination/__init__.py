"""The driver's side of a job: epochs, checkpoints, commits, positions, restarts."""
