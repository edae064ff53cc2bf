"""Change heads: heads off, links cut, and what that does."""
