# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     name: python3
# ---

# %% [markdown]
# # Tutorial
# From labelled texts to a model that explains itself. `jupytext --to notebook tutorial.py` makes a notebook of this file.

# %%
import numpy as np

from zipfel import Zipfel, datasets
from zipfel.data import stats

train, test = datasets.load("debian-tags")
train, test = train.take(np.arange(2000)), test.take(np.arange(400))
print(train.texts[0][:80], train.Y[0].nnz, "labels")

# %% [markdown]
# ## The data
# Most labels are rare.

# %%
found = stats(train)
print(f"{found.n_points} documents, {found.labels_a_point:.1f} labels a document")
for bucket in found.buckets:
    print(f"{bucket.name}: {bucket.labels} labels, {bucket.pair_share:.0%} of the pairs")

# %% [markdown]
# ## Training and measuring

# %%
model = Zipfel(preset="quick").fit(train)
scores = model.evaluate(test)
print({name: round(scores[name], 3) for name in ("P@1", "P@5", "PSP@5", "R@5[tail]")})

# %%
from zipfel.report import frequency_figure, model_report, recall_figure, reliability_figure

recall_figure(model, test)

# %%
frequency_figure(model)

# %% [markdown]
# ## Predictions
# A ranking is shown as a table in a notebook.

# %%
ranking = model.predict(["A role-playing game with monsters", "A fast web browser for the terminal"], k=3)
ranking

# %% [markdown]
# ## Calibration
# Labels with probability 0.7 should be right in 70 % of the cases.

# %%
print(f"expected calibration error {model.reliability(test, k=5).error:.3f}")
reliability_figure(model, test)

# %% [markdown]
# ## Why

# %%
why = model.explain("A role-playing game with monsters", k=1)
for line in why.reasons(next(iter(why.scores))):
    print(line)

# %% [markdown]
# ## More documents
# New documents count at once, and may bring new labels.

# %%
model.partial_fit(["A board game with dice"] * 3, [["game::dice"]] * 3)
print(model.predict(["a board game with dice"], k=3).names)

# %% [markdown]
# ## The whole report
# The page needs no network.

# %%
page = model_report(model, test)
print(f"{len(page):,} characters of HTML")
