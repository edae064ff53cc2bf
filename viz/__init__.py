"""Everything that draws: theme, figures, components, pages."""
