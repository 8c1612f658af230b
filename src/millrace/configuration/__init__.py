"""Configuration keys: which there are, what becomes of each here, the files that hold them."""
