"""Three steps: queries, keys and values; scores; the weighted sum."""
