"""Losses: one a file, tensors in, a scalar out."""
