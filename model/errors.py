"""The errors that `model` raises; their messages say what was given, what is allowed, and what to do."""

from __future__ import annotations


class HeadlightError(Exception):
    """The base of all errors that callers of `model` are expected to catch."""


class ConfigError(HeadlightError):
    """A model configuration that describes no supported model, or contradicts itself."""


class CheckpointError(HeadlightError):
    """Weights that are missing, truncated, of the wrong shape, or not finite."""


class MemoryShortError(CheckpointError):
    """A model that would take more memory than is free."""


class TokenizerError(HeadlightError):
    """A vocabulary that cannot be read or does not fit the model."""


class TextError(HeadlightError):
    """A text without tokens, or with more than the model can read."""


class SelectionError(HeadlightError):
    """A layer, head, position, token or setting that does not exist."""


class BusyError(HeadlightError):
    """Too many callers are waiting for the model already."""
