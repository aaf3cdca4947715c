"""Neighbours: the training points as voters, by words, by codes and by a forest."""
