"""MNN on one data set, one parameter changed at a time: python -m benchmarks.mnn_table [--data delicious] [--seeds 3]

h, m, dropout and dim with the paper's loss; then the loss, who votes, and how many encoders.
"""

from __future__ import annotations

from benchmarks.ablation import arguments, run, show

BASE = "loss=contrastive;encoders=1"
CHANGES = {
    "paper's loss, h 25, m 0.1, keep 0.8, dim 150, 1 encoder": "negatives=25;keep=0.8",
    "h 1": "negatives=1;keep=0.8",
    "h 10": "negatives=10;keep=0.8",
    "h 50": "negatives=50;keep=0.8",
    "m 0": "negatives=25;keep=0.8;margin=0",
    "m 0.2": "negatives=25;keep=0.8;margin=0.2",
    "m 0.4": "negatives=25;keep=0.8;margin=0.4",
    "keep 1": "negatives=25;keep=1",
    "keep 0.6": "negatives=25;keep=0.6",
    "keep 0.4": "negatives=25;keep=0.4",
    "dim 50": "negatives=25;keep=0.8;dim=50",
    "dim 300": "negatives=25;keep=0.8;dim=300",
    "overlapping sets are no negatives": "negatives=25;keep=0.8;exclude=overlapping",
}
VARIANTS = {name: f"mnn[{BASE};{change}]" for name, change in CHANGES.items()} | {
    "InfoNCE, 1 encoder": "mnn[encoders=1]",
    "InfoNCE, label vectors vote": "mnn[encoders=1;ranking=labels]",
    "InfoNCE, label sets vote": "mnn[encoders=1;ranking=sets]",
    "InfoNCE, points vote": "mnn[encoders=1;ranking=points]",
    "paper's loss, 6 encoders": "mnn[loss=contrastive]",
    "default: InfoNCE, 6 encoders": "mnn",
}


def main() -> None:
    show(run(arguments(__doc__ or "", ["delicious"]), VARIANTS), VARIANTS)


if __name__ == "__main__":
    main()
