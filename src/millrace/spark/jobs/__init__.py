"""Running jobs on Spark: submitting, one epoch after the other, and what others ask of them."""
