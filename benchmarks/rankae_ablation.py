"""Rank-AE's parts against each other: python -m benchmarks.rankae_ablation [--data delicious] [--seeds 3]

Figure 4's question (no attention; BCE instead of the ranking loss), and what each deviation from the paper is worth.
"""

from __future__ import annotations

from benchmarks.ablation import arguments, run, show

VARIANTS = {
    "default: BCE, InfoNCE, decoder and neighbours": "rankae",
    "no channel attention (Figure 4)": "rankae[attention=spatial]",
    "ranking loss (Figure 4)": "rankae[loss=ranking;lr=0.001]",
    "ranking loss, decoder only": "rankae[loss=ranking;lr=0.001;readout=decoder]",
    "ranking loss without the sigmoid, decoder only": "rankae[loss=ranking;bounded=false;margin=1;readout=decoder]",
    "BCE, decoder only": "rankae[readout=decoder]",
    "BCE, neighbours only": "rankae[readout=neighbours]",
    "squared distance instead of InfoNCE": "rankae[common=mse]",
    "documents' codes not decoded": "rankae[decode_features=0]",
    "the paper's": "rankae:paper",
}


def main() -> None:
    show(run(arguments(__doc__ or "", ["delicious", "eurlex57k", "debian-tags"]), VARIANTS), VARIANTS)


if __name__ == "__main__":
    main()
