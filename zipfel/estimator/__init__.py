"""What the estimator `zipfel.Zipfel` is made of: what users hand in, decisions, updates, labels that change."""
