"""Evidence for labels, joined by a judge: what `auto` is made of."""
