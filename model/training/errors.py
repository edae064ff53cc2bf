"""What can go wrong with training data."""

from model.errors import HeadlightError


class TrainingDataError(HeadlightError):
    """A text source could not be fetched, is not what was expected, or cannot be read."""
