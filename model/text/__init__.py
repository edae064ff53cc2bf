"""Text to tokens and back: how tokens are shown, grouped to words, and paired between two texts."""
