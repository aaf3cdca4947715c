"""Rank-AE's parts against each other: python -m benchmarks.rankae_ablation [--data delicious ...] [--points 3000]

Figure 4's questions, attention or none and ranking loss or BCE, with the paper's read-out, the decoder. One small
network is trained, on the points of the sample that are not held out; documents' codes are decoded as well.
"""

from __future__ import annotations

from benchmarks.small import arguments, compare, show

SMALL = "networks=1;refit=false;readout=decoder;word_dim=64;dim=100;hidden=128;epochs=30"
VARIANTS = {
    "Rank-AE: ranking loss, dual attention": f"rankae[loss=ranking;{SMALL}]",
    "no channel attention": f"rankae[loss=ranking;attention=spatial;{SMALL}]",
    "mean over pairs for the hardest": f"rankae[loss=ranking;hardest=false;{SMALL}]",
    "BCE": f"rankae[loss=bce;{SMALL}]",
    "BCE, no channel attention": f"rankae[loss=bce;attention=spatial;{SMALL}]",
}


def main() -> None:
    asked = arguments(__doc__ or "", ["delicious", "debian-tags", "eurlex57k"], points=3000)
    show(compare(asked, VARIANTS, "rankae_ablation.jsonl"))


if __name__ == "__main__":
    main()
