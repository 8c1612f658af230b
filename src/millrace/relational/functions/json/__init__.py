"""Functions of JSON text, and of variants, which are kept as such."""
