"""Logit lens: the guess after every layer, and one logit part by part."""
