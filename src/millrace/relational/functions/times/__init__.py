"""Functions of dates, times and intervals."""
