"""Functions of numbers: arithmetic, rounding, mathematics, random numbers."""
