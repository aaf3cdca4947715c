"""MNN on one data set, one parameter changed at a time: python -m benchmarks.mnn_table [--data delicious] [--seeds 3]

h, m, dropout and dim with the paper's loss; then the loss, who votes, and how many encoders.
"""

from __future__ import annotations

from benchmarks.ablation import arguments, run, show

VARIANTS = {
    "paper's loss, h 10, m 0.2, keep 0.6, dim 300, 1 encoder": "mnn[loss=contrastive;encoders=1]",
    "h 1": "mnn[loss=contrastive;encoders=1;negatives=1]",
    "h 50": "mnn[loss=contrastive;encoders=1;negatives=50]",
    "m 0": "mnn[loss=contrastive;encoders=1;margin=0]",
    "m 0.4": "mnn[loss=contrastive;encoders=1;margin=0.4]",
    "keep 1": "mnn[loss=contrastive;encoders=1;keep=1]",
    "keep 0.8": "mnn[loss=contrastive;encoders=1;keep=0.8]",
    "keep 0.4": "mnn[loss=contrastive;encoders=1;keep=0.4]",
    "dim 100": "mnn[loss=contrastive;encoders=1;dim=100]",
    "dim 600": "mnn[loss=contrastive;encoders=1;dim=600]",
    "overlapping sets are no negatives": "mnn[loss=contrastive;encoders=1;exclude=overlapping]",
    "InfoNCE, 1 encoder": "mnn[encoders=1]",
    "InfoNCE, label vectors vote": "mnn[encoders=1;ranking=labels]",
    "InfoNCE, label sets vote": "mnn[encoders=1;ranking=sets]",
    "InfoNCE, points vote": "mnn[encoders=1;ranking=points]",
    "paper's loss, 3 encoders": "mnn[loss=contrastive]",
    "default: InfoNCE, 3 encoders": "mnn",
}


def main() -> None:
    show(run(arguments(__doc__ or "", ["delicious"]), VARIANTS), VARIANTS)


if __name__ == "__main__":
    main()
