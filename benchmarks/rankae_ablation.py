"""Rank-AE's parts against each other: python -m benchmarks.rankae_ablation [--data delicious] [--seeds 3]

Figure 4's question (no attention; BCE instead of the ranking loss), and what each deviation from the paper is worth.
One network is trained, on the nine tenths of train that are not held out for the choices.
"""

from __future__ import annotations

from benchmarks.ablation import arguments, run, show

SHORT = "networks=1;refit=false"
VARIANTS = {
    "one network: BCE, InfoNCE, decoder and neighbours": f"rankae[{SHORT}]",
    "no channel attention (Figure 4)": f"rankae[attention=spatial;{SHORT}]",
    "ranking loss (Figure 4)": f"rankae[loss=ranking;{SHORT}]",
    "BCE, decoder only": f"rankae[readout=decoder;{SHORT}]",
    "BCE, decoder only, no channel attention": f"rankae[readout=decoder;attention=spatial;{SHORT}]",
    "ranking loss, decoder only": f"rankae[loss=ranking;readout=decoder;{SHORT}]",
    "ranking loss without the sigmoid, decoder only": (
        f"rankae[loss=ranking;bounded=false;margin=1;balance=0.01;readout=decoder;{SHORT}]"
    ),
    "squared distance instead of InfoNCE": f"rankae[common=mse;{SHORT}]",
    "documents' codes not decoded": f"rankae[decode_features=0;{SHORT}]",
    "the paper's": "rankae:paper[refit=false]",
}


def main() -> None:
    show(run(arguments(__doc__ or "", ["delicious", "eurlex57k", "debian-tags"]), VARIANTS), VARIANTS)


if __name__ == "__main__":
    main()
