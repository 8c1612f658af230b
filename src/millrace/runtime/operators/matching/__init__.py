"""What operators that look for patterns are made of."""
