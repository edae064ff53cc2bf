"""Inside a block: every step of one layer for one token."""
