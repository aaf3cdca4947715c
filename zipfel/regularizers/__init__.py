"""Regularisers of label vectors: tensors in, a scalar out."""
