"""The training engine: cost follows the non-zeros.

Big tables (features x dim, labels x dim) never require a gradient. For each batch a builder thread finds the few table
rows that it touches. The trainer gathers them as small leaf tensors. The method's objective is ordinary torch code on
these. A fused row-wise optimiser writes the result back. A method uses it like this::

    tables = {
        "features": Table.normal(n_features, dim, 0.1, run.rng(1)),   # zipfel.nn.table; Adam on touched rows
        "labels": Table.zeros(n_labels, dim, rate=1.0),
    }
    module = nn.Linear(dim, dim)                                      # small dense parts: Adam
    sampler = CandidateSampler(train.Y, n_sampled=2000, power=0.5, n_hard=0, all_below=3000)
    batches = Batches(train.X, train.Y, size=512, seed=run.seed, candidates=sampler, keep=0.8)

    def objective(batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
        hidden = module(bag(rows["features"], batch.X))               # (B, dim), zipfel.nn.bag
        found = batch.candidates
        logits = hidden @ rows["labels"].T                            # (B, c)
        return candidate_bce(logits, found.rows, found.columns)       # zipfel.losses.bce

    plan = Plan(epochs=10, lr=3e-3, schedule="linear", warmup=0.05, clip=None, patience=3)
    history = Trainer(run, batches, objective, plan, tables=tables, module=module, validate=p_at_1).fit()
    weights = tables["labels"].numpy()                                # the best epoch's

- `Batch`: `rows` (B,) points of train; `X` a `LocalRows` whose column c is row c of rows["features"]; `Y` (B, L)
  CSR; `candidates` (labels (c,), positives as `rows`, `columns`, and `inclusion` (c,)); `generator` for draws
  inside the objective; `ids` and `extra`, which `Batches(extend=...)` may add to for further tables: e.g. the
  batch's label sets as a bag: ``sets = LocalRows.from_csr(batch.Y); batch.ids["labels"] = sets.ids;
  batch.extra["sets"] = sets`` and then ``bag(rows["labels"], batch.extra["sets"], mode="mean")``.
- SGD with momentum and weight decay: `Table(..., optimizer="sgd", momentum=0.9, decay=5e-4)` for tables, and
  `Plan(optimizer="sgd", momentum=0.9, decay=5e-4, schedule="constant")` for the module.
- Every table named in `tables` must have its rows in `batch.ids` (distinct ids). "features" always is there,
  "labels" when the batches have a candidate sampler.
- `validate() -> float` runs under no_grad after each epoch; the best epoch's weights are put back at the end.
- `before_epoch(epoch)` may change things that batches are built from, such as `sampler.shortlist`; state that it
  leaves behind goes into `kept` (state() -> tensors, restore(tensors)) so that a resumed run ends the same.
- Checkpoints: run.checkpoint / "<name>.tensors" after each epoch, resumed with run.resume. A method with
  several phases gives each trainer a name of its own; a phase that had ended is restored and not run again.
- Draws: from `run.rng(salt)`, from `batch.generator`, or from the generator handed to `extend`; `nn.seeded.Dropout`
  draws from a generator that the trainer seeds by epoch and batch. nn.Dropout would draw from torch's one generator.
- Devices: steps are taken on run.device ("cpu", "cuda", "cuda:N", "mps"). The batch arrives there with all its tensors
  and `LocalRows`; what an objective draws from `batch.generator` is drawn on the CPU and moved by it. Between epochs
  tables and module are on the CPU, so `validate`, `before_epoch` and later steps are the same for every device. On
  other devices than the CPU the kernels' plain twins run, and CUDA adds up in no fixed order: two runs agree but for
  rounding.
  `zipfel.kernels.choice.without_kernels` plays another device on the CPU, for tests.
- Several workers: inside `zipfel.training.team.use_team` the same fit runs in several processes, and each trainer takes
  its share of every batch and its rows of every table. An objective that is a mean over rows needs nothing for that.
  Where rows meet each other (negatives of the same batch), it calls `zipfel.nn.shares.together` on the codes, and
  `extend` draws for `batch.everything` and keeps `batch.own(...)`.
- Prediction: `encode_bag(X, table)` (zipfel.nn.bag) is X @ table on all threads; search with zipfel.index.
"""

from zipfel.system.memory import available_memory, check_memory
from zipfel.training.batches import Batch, Batches
from zipfel.training.candidates import Candidates, CandidateSampler
from zipfel.training.schedule import SCHEDULES, rate_at
from zipfel.training.trainer import History, Plan, Stateful, Trainer

__all__ = [
    "SCHEDULES",
    "Batch",
    "Batches",
    "CandidateSampler",
    "Candidates",
    "History",
    "Plan",
    "Stateful",
    "Trainer",
    "available_memory",
    "check_memory",
    "rate_at",
]
