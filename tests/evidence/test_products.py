"""Two kinds of evidence together: against plain sums and a solver, what no blend tells, too few documents, damage."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from tests.evidence.test_context import learnt_judge
from zipfel.errors import ModelFileError
from zipfel.evidence.judge import Judge
from zipfel.evidence.products import FRONT, Products

Array = npt.NDArray[Any]


def _either(n: int = 1500, seed: int = 0, noise: float = 0.0) -> tuple[Array, Array, Array]:
    """Labels that are true where just one of two kinds of evidence speaks for them; a third says nothing."""
    rng = np.random.default_rng(seed)
    evidence = rng.normal(size=(n, 30, 3)).astype(np.float32)
    hits = (evidence[:, :, 0] * evidence[:, :, 1] + noise * rng.normal(size=(n, 30))) < 0
    return np.tile(np.arange(30), (n, 1)), evidence, hits


def test_what_one_kind_says_may_hang_on_another() -> None:
    labels, evidence, hits = _either()
    judge = learnt_judge(labels, evidence, hits, None, can_oppose=("c",))
    both = learnt_judge(labels, evidence, hits, None, products=True, can_oppose=("c",))
    labels, evidence, hits = _either(200, seed=1)
    rows = np.arange(200)
    assert hits[rows, judge.log_odds(labels, evidence, None).argmax(axis=1)].mean() < 0.65
    assert hits[rows, both.log_odds(labels, evidence, None).argmax(axis=1)].mean() > 0.95


def test_one_step_from_the_blend_on() -> None:
    """The same by torch, which finds slope and curvature of both losses by itself."""
    _, evidence, hits = _either(200, noise=1.0)
    scores = evidence[:, :, 2].copy()
    scores[0, 3:], scores[3] = -np.inf, -np.inf  # fewer candidates than the others, and none
    hits[1], hits[2] = True, False
    found = Products.fit(scores, evidence, hits)
    assert found is not None
    kept = [[c for c in np.argsort(-row, kind="stable")[:FRONT] if np.isfinite(row[c])] for row in scores]
    E = np.concatenate([evidence[i, best].astype(float) for i, best in enumerate(kept)])
    z = np.clip((E - E.mean(axis=0)) / E.std(axis=0), -4, 4)
    names = [(f, g) for f in range(4) for g in range(f, 4)]
    z = np.column_stack([z, np.ones(len(z))])
    A = torch.tensor(np.column_stack([z[:, f] * z[:, g] for f, g in names])).split([len(best) for best in kept])

    def loss(form: torch.Tensor) -> torch.Tensor:
        total = 4.0 * 10 * (form[:-1] ** 2).sum() + 5e-4 * form[-1] ** 2
        for i, best in enumerate(kept):
            s, true = torch.tensor(scores[i, best].astype(float)) + A[i] @ form, torch.tensor(hits[i, best])
            total = total + (torch.nn.functional.softplus(s) - s * true).sum()
            for own in s[true]:
                total = total + torch.log1p(torch.exp(s[~true] - own).sum())
        return total

    start = torch.zeros(len(names), dtype=torch.float64)
    slope, curvature = torch.func.grad(loss)(start), torch.func.hessian(loss)(start)
    wanted = -torch.linalg.solve(curvature, slope)
    np.testing.assert_allclose([found.form[pair] for pair in names], wanted.numpy(), atol=1e-4)


def test_only_the_best_candidates_are_judged_and_the_others_stay_behind() -> None:
    _, evidence, hits = _either(300, noise=0.5)
    scores = evidence[:, :, 2].copy()
    products = Products.fit(scores, evidence, hits)
    assert products is not None
    scores[1, 5:] = -np.inf
    scores[2] = -np.inf
    scores[3] = 1.0  # of equal ones the first
    added = products.added(scores, evidence)
    for i in range(40):
        best = [c for c in np.argsort(-scores[i], kind="stable")[:FRONT] if np.isfinite(scores[i, c])]
        z = np.append(np.clip((evidence[i] - products.mean) / products.spread, -4, 4), np.ones((30, 1)), axis=1)
        wanted = np.einsum("cf,fg,cg->c", z, products.form, z)
        np.testing.assert_allclose(added[i, best], wanted[best], atol=1e-4)
        others = np.setdiff1d(np.arange(30), best) if len(best) == FRONT else np.array([], dtype=int)
        assert (added[i, others] == min(0, added[i, best].min(initial=0))).all()
        if len(others):
            assert (scores[i] + added[i])[others].max() <= (scores[i] + added[i])[best].min() + 1e-5
        np.testing.assert_array_equal(products.added(scores[[i]], evidence[[i]])[0], added[i])


def test_few_documents_have_none_and_evidence_that_never_varies_does_no_harm() -> None:
    _, evidence, hits = _either(199)
    assert Products.fit(evidence[:, :, 2], evidence, hits) is None
    _, evidence, hits = _either(200)
    evidence[:, :, 1] = 7.0
    products = Products.fit(evidence[:, :, 2], evidence, hits)
    assert products is not None
    assert np.isfinite(products.added(evidence[:, :, 2], evidence)).all()
    assert Products.fit(np.full((200, 30), -np.inf, dtype=np.float32), evidence, hits) is None  # no candidates at all


def test_they_are_kept_with_the_judge_and_models_without_them_are_read() -> None:
    labels, evidence, hits = _either(400)
    names = ["a", "b", "c"]
    judge = learnt_judge(labels, evidence, hits, None, products=True)
    facts = json.loads(json.dumps(judge.facts()))
    again = Judge.from_facts(facts, names)
    np.testing.assert_array_equal(again.log_odds(labels, evidence, None), judge.log_odds(labels, evidence, None))
    del facts["products"]  # as before there were any
    assert Judge.from_facts(facts, names).products is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mean", [0.0, 1.0]),
        ("spread", [1.0, 0.0, 1.0]),
        ("form", [[0.0] * 4] * 3),
        ("form", [[float("nan")] * 4] * 4),
        ("form", "much"),
        ("mean", None),
    ],
)
def test_damage_is_refused(name: str, value: Any) -> None:
    facts = {"mean": [0.0] * 3, "spread": [1.0] * 3, "form": [[0.0] * 4] * 4}
    Products.from_facts(facts, 3)
    with pytest.raises(ModelFileError, match="damaged"):
        Products.from_facts({**facts, name: value}, 3)
    with pytest.raises(ModelFileError, match="damaged"):
        Products.from_facts({key: part for key, part in facts.items() if key != name}, 3)
    with pytest.raises(ModelFileError, match="damaged"):
        Products.from_facts([facts], 3)
