"""Shares of batches and rows of tables at several workers: what one process computes, but for rounding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from tests.training.teams import ThreadTeam, by_team
from zipfel.errors import ParameterError, ResourceError
from zipfel.losses.infonce import info_nce
from zipfel.nn.bag import LocalRows, bag
from zipfel.nn.seeded import Dropout
from zipfel.nn.shares import Share, own, together, use_share
from zipfel.nn.table import Table
from zipfel.run import Run
from zipfel.training import Batch, Batches, History, Plan, Trainer
from zipfel.training.sharded_table import ShardedTable
from zipfel.training.team import agreed, check_agreement

CPU = torch.device("cpu")
SETTINGS = [{"optimizer": "adam", "decay": 0.01}, {"optimizer": "adagrad"}, {"optimizer": "sgd", "decay": 0.01}]


def steps() -> Iterator[tuple[list[list[int]], Tensor]]:
    """(rows that each of three workers touches, the gradient of every row by each worker)."""
    draw = torch.Generator().manual_seed(3)
    for touched in ([[0, 5, 7], [5], [9, 0, 1]], [[], [2, 3], []], [[5], [5], [5]]):
        yield touched, torch.randn(3, 10, 4, generator=draw)


@pytest.mark.parametrize("settings", SETTINGS)
def test_owners_take_the_step_that_one_table_takes(settings: dict[str, float]) -> None:
    start = torch.randn(10, 4, generator=torch.Generator().manual_seed(1))
    alone = Table(start.clone(), **settings)
    gathered = []
    for touched, grads in steps():
        ids = torch.tensor(sorted({row for rows in touched for row in rows}))
        gathered.append({int(i): row for i, row in zip(ids, alone.rows(ids).detach(), strict=True)})
        total = torch.zeros(10, 4)
        for rows, grad in zip(touched, grads, strict=True):
            total[rows] += grad[rows]
        alone.update(ids, total[ids], 0.1)
    alone.settle()

    def work(team: ThreadTeam) -> tuple[Table, dict[str, Tensor]]:
        whole = Table(start.clone(), **settings)
        table = ShardedTable(whole, team, CPU)
        table.away(CPU)
        for (touched, grads), expected in zip(steps(), gathered, strict=True):
            ids = torch.tensor(touched[team.rank], dtype=torch.int64)
            rows = table.rows(ids)
            for i, row in zip(touched[team.rank], rows.detach(), strict=True):
                assert torch.allclose(row, expected[i], atol=1e-6)
            table.update(ids, grads[team.rank][ids], 0.1)
        table.settle()
        table.home()
        return whole, table.state()

    found = by_team(3, work)
    for whole, _ in found:
        assert torch.allclose(whole.weights, alone.weights, atol=1e-6)
    assert found[1][1] == found[2][1] == {}
    for name, tensor in alone.state().items():
        assert torch.allclose(found[0][1][name].double(), tensor.double(), atol=1e-6), name


def test_shares_cover_a_batch_and_a_spare_one_does_not_count() -> None:
    shares = by_team(3, lambda team: Share.of(2, team))
    assert [share.weight for share in shares] == [0.0, 0.5, 0.5]
    assert [share.sizes() for share in shares] == [[0, 1, 1]] * 3
    assert [(share.first, share.last) for share in shares] == [(0, 1), (0, 1), (1, 2)]


@pytest.mark.parametrize("n_rows", [2, 7])
def test_what_comes_together_has_the_gradient_of_the_whole_batch(n_rows: int) -> None:
    x = torch.randn(n_rows, 4, generator=torch.Generator().manual_seed(n_rows)).requires_grad_()
    info_nce(x @ x.T, 0.5).backward()

    def work(team: ThreadTeam) -> tuple[Share, Tensor]:
        share = Share.of(n_rows, team)
        mine = x.detach()[share.first : share.last].clone().requires_grad_()
        with use_share(share):
            (info_nce(mine @ together(mine).T, 0.5, None, share.first) * share.weight).backward()
        assert mine.grad is not None
        return share, mine.grad

    for share, grad in by_team(3, work):
        expected = x.grad[share.first : share.last] if share.counts else torch.zeros(1, 4)  # type: ignore[index]
        assert torch.allclose(grad, expected, atol=1e-6)


def test_dropout_drops_what_it_drops_of_the_whole_batch() -> None:
    dropout, x = Dropout(0.5), torch.arange(1.0, 21.0).view(5, 4)
    dropout.generator = torch.Generator().manual_seed(4)
    whole = dropout(x)
    dropout.generator.manual_seed(4)
    team = ThreadTeam(1, [(), ()], None)  # type: ignore[arg-type]
    with use_share(Share.of(5, team)):
        assert torch.equal(dropout(own(x)), whole[2:])
    assert torch.equal(dropout.eval()(x), x)


def data() -> tuple[sp.csr_matrix, sp.csr_matrix]:
    rng = np.random.default_rng(0)
    X = sp.random(65, 30, 0.2, "csr", dtype=np.float32, random_state=rng)
    return X, sp.csr_matrix((np.ones(65, np.float32), (np.arange(65), rng.integers(0, 9, 65))), shape=(65, 9))


def trained(run: Run, *, stop_before: int = 99, seed: int = 1, **plan: float) -> tuple[History, list[Tensor]]:
    """Two towers and a layer; batches of 16 rows, the last of an epoch of one."""
    X, Y = data()
    rng = np.random.default_rng(seed)
    tables = {"features": Table.normal(30, 4, 0.5, rng), "labels": Table.normal(9, 4, 0.5, rng)}
    module = nn.Linear(4, 4)
    with torch.no_grad():
        module.weight.copy_(torch.eye(4))
        module.bias.zero_()

    def extend(batch: Batch, _: np.random.Generator) -> None:
        sets = LocalRows.from_csr(batch.Y)
        batch.ids["labels"], batch.extra["sets"] = sets.ids, sets

    def objective(batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
        codes = module(bag(rows["features"], batch.X))
        return info_nce(codes @ together(bag(rows["labels"], batch.extra["sets"])).T, 1.0, None, batch.first)

    def before(epoch: int) -> None:
        if epoch == stop_before:
            raise KeyError("stop")

    batches = Batches(X, Y, size=16, seed=run.seed, keep=0.8, extend=extend)
    history = Trainer(
        run, batches, objective, Plan(epochs=4, lr=0.05, **plan), tables=tables, module=module, before_epoch=before,
        validate=lambda: -float(tables["labels"].weights.square().sum()),
    ).fit()  # fmt: skip
    return history, [tables["features"].weights, tables["labels"].weights, module.weight.detach()]


def same(one: tuple[History, list[Tensor]], other: tuple[History, list[Tensor]]) -> bool:
    assert one[0].best_epoch == other[0].best_epoch
    assert [e["loss"] for e in one[0].epochs] == pytest.approx([e["loss"] for e in other[0].epochs], rel=1e-4)
    return all(torch.allclose(a, b, atol=1e-4) for a, b in zip(one[1], other[1], strict=True))


def test_a_team_learns_what_one_process_learns() -> None:
    alone = trained(Run(seed=1, threads=1))
    for found in by_team(3, lambda _: trained(Run(seed=1, threads=1))):
        assert same(alone, found)


def test_one_clock_holds_for_all() -> None:
    found = by_team(3, lambda team: trained(Run(seed=1, threads=1, time_budget=1e4 if team.rank else 1e-9)))
    assert [(history.stopped, len(history.epochs)) for history, _ in found] == [("time budget", 1)] * 3


def test_a_checkpoint_is_resumed_by_any_number_of_workers(tmp_path: Path) -> None:
    alone = trained(Run(seed=1, threads=1))

    def run(name: str, *, resume: bool = False) -> Run:
        return Run(seed=1, threads=1, checkpoint=tmp_path / name, resume=resume)

    with pytest.raises(KeyError):
        by_team(3, lambda _: trained(run("three"), stop_before=2))
    assert same(alone, trained(run("three", resume=True)))
    with pytest.raises(KeyError):
        trained(run("one"), stop_before=3)
    for found in by_team(2, lambda _: trained(run("one", resume=True))):
        assert same(alone, found)


def test_what_a_team_cannot_do_is_said() -> None:
    with pytest.raises(ParameterError, match="without workers"):
        by_team(2, lambda _: trained(Run(seed=1, threads=1), clip=1.0))
    with pytest.raises(ResourceError, match="machines of one kind"):
        by_team(2, lambda team: check_agreement(team, {"epochs": team.rank}))
    by_team(2, lambda team: check_agreement(team, {"epochs": 3}))
    assert by_team(3, lambda team: agreed(team, 0.25 + team.rank)) == [0.25] * 3
    assert agreed(None, 0.5) == 0.5
