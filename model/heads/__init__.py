"""What heads do: measures, roles, search, comparison, thumbnails, and how a change shifts their patterns."""
