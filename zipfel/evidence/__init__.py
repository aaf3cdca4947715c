"""What `auto` is made of.

part.py          the contract of a kind of evidence: what it learns from, and what it returns
parts/           one kind of evidence a file
training_set.py  the points' words and labels, which all parts share
shape.py         the few numbers of a data set that a rule may read
rules.py         which parts are tried, and the settings that depend on the data's shape: one table
fitting.py       parts are fitted side by side, each after those that it needs
candidates.py    the labels of a document that are scored
ensemble.py      all evidence for the candidates, a column a number
judge.py         the model that joins the evidence into one score, with context.py and products.py
selection.py     which parts stay, by the held-out points, with comparing.py
explain.py       why a label has its score, with contributions.py
"""
