"""Compare heads: two to four heads or layer means on the same text."""
