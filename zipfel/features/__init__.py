"""Text to sparse TF-IDF rows, and weights for ready-made ones."""

from __future__ import annotations

from zipfel.features.characters import Token
from zipfel.features.vectorizer import Vectorizer, VectorizerConfig
from zipfel.features.weighting import WEIGHTINGS, Weighting

__all__ = ["WEIGHTINGS", "Token", "Vectorizer", "VectorizerConfig", "Weighting"]
