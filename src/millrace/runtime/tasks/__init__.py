"""Tasks: operators wired together, run for one epoch after the other, and reused between epochs."""
