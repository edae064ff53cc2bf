"""One token at a time: what is computed, what comes from the key/value cache, and what is written."""
