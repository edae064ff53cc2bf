"""Words and numbers as they are shown."""
