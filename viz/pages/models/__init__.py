"""Models: the chosen model, its card, and other checkpoints."""
