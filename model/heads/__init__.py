"""What heads do: measures, search, comparison, thumbnails."""
