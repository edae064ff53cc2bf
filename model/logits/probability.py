"""Logits as probabilities: ranked, their spread, and how far two of them are apart. All in float64."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int


def probabilities(logits: Float[np.ndarray, " d_vocab"], temperature: float = 1.0) -> Float[np.ndarray, " d_vocab"]:
    """Softmax of `logits / temperature`: below 1 the likely tokens gain, above 1 they lose."""
    scaled = np.asarray(logits, np.float64)
    # Subtracted first: a tiny temperature then makes the others 0 instead of everything infinite.
    shares = np.exp((scaled - scaled.max()) / temperature)
    return shares / shares.sum()


def ranking(values: Float[np.ndarray, " d_vocab"]) -> Int[np.ndarray, " d_vocab"]:
    """The ids from the largest value to the smallest; of equal ones the lower id comes first."""
    return np.argsort(-np.asarray(values, np.float64), kind="stable")


def top(values: Float[np.ndarray, " d_vocab"], n: int) -> Int[np.ndarray, " top"]:
    """The first `n` of `ranking`, without sorting the others."""
    exact = np.asarray(values, np.float64)
    if n >= len(exact):
        return ranking(exact)
    reached = np.flatnonzero(exact >= np.partition(exact, -n)[-n])
    return reached[ranking(exact[reached])][:n]


def n_tied(logits: Float[np.ndarray, " d_vocab"]) -> int:
    """How many tokens share the largest logit: 1 where one of them leads."""
    return int((logits == logits.max()).sum())


def log_probabilities(logits: Float[np.ndarray, "*batch d_vocab"]) -> Float[np.ndarray, "*batch d_vocab"]:
    """The natural logarithm of the softmax along the last axis (float64): finite however small a probability is."""
    shifted = np.asarray(logits, np.float64) - np.max(logits, axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def entropy_bits(logits: Float[np.ndarray, "*batch d_vocab"]) -> Float[np.ndarray, "*batch"]:
    """How undecided each row is, in bits: 0 if one token has all, log2(d_vocab) if all are equally likely."""
    logs = log_probabilities(logits)
    return np.asarray(-(np.exp(logs) * logs).sum(axis=-1) / np.log(2))


def kl_bits(before: Float[np.ndarray, " d_vocab"], after: Float[np.ndarray, " d_vocab"]) -> float:
    """KL(before || after) of the softmax of two rows of logits, in bits; 0 or more, 0 exactly for equal rows.

    The sum over tokens of p_before * log2(p_before / p_after): how many bits a token costs more, on average over what
    the first predicts, if it is coded for the second (Kullback and Leibler 1951). Turned around it is another number.
    """
    logs, others = log_probabilities(before), log_probabilities(after)
    return max(0.0, float((np.exp(logs) * (logs - others)).sum() / np.log(2)))
