"""Neighbours: search by words and by codes, their votes, a forest, and centroids."""
