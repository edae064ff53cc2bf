"""Mask: scores before and after it, and what the softmax makes of them."""
