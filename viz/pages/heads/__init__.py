"""All heads: every pattern at a glance, search, measures."""
