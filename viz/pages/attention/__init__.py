"""Attention: what one token looks at, by one head."""
