"""Files of a program: file systems by path, cached files, and checkpoint files in a storage of a user's own."""
