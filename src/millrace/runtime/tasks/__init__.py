"""Tasks: operators wired together, run for one epoch after the other, kept between epochs."""
