"""The errors that `model` raises: each says what was given, what is allowed, and what to do."""

from __future__ import annotations


class HeadlightError(Exception):
    """Base of every error a caller of `model` is expected to catch."""


class ConfigError(HeadlightError):
    """A model configuration that is no GPT-2, or contradicts itself."""


class CheckpointError(HeadlightError):
    """Weights that are missing, cut short, of the wrong shape, or not numbers."""


class TokenizerError(HeadlightError):
    """A vocabulary that cannot be read or does not fit the model."""


class TextError(HeadlightError):
    """A text that leaves the model nothing to compute."""


class SelectionError(HeadlightError):
    """A layer, head or position outside what the trace holds."""


class BusyError(HeadlightError):
    """So many wait for the model that one more would wait too long."""
