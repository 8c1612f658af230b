"""What the translation of every node shares: its context, frames, and Python functions on columns."""
