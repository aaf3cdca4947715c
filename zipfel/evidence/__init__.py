"""What `auto` is made of.

part.py     the contract of a kind of evidence, and what it learns from and is asked about
parts/      one kind of evidence a file
shape.py    the few numbers of a data set that a rule may read
rules.py    which parts are tried, and the settings that depend on the data's shape: one table
candidates  the labels of a document that are scored
judge.py    the model that joins the evidence into one score
selection   which parts stay, by the held-out points
explain.py  why a label has its score
"""
