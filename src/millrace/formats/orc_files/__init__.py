"""Reading ORC files in a process of its own: their sizes cannot be checked before they are read."""
