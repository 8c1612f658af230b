"""The user's functions in a program, and their source as syntax trees."""
