"""What rules look at, and what they say."""
