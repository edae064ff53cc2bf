"""Weights: the matrices of a block, counted and drawn."""
