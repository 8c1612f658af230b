"""Steps on whole columns that operators on tables share: keys, matches, ranks, changes."""
