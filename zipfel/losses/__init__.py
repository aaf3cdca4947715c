"""Losses, one in each file. A loss takes tensors and returns a scalar."""
