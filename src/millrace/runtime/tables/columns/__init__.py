"""Operations on whole columns that table operators share: keys, matches, ranks, changes."""
