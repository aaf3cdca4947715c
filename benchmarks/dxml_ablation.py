"""DXML's parts against each other: python -m benchmarks.dxml_ablation [--data delicious debian-deps] [--seeds 3]

Figure 2's question (ReLU or linear), where label vectors come from, and what each deviation from the paper is worth.
"""

from __future__ import annotations

from benchmarks.ablation import arguments, run, show

VARIANTS = {
    "default": "dxml[activation=relu]",
    "linear instead of ReLU (Figure 2)": "dxml[activation=linear]",
    "PPMI-SVD instead of DeepWalk": "dxml[activation=relu;vectors=ppmi]",
    "random vectors instead of DeepWalk": "dxml[activation=relu;vectors=random]",
    "no direction of its own": "dxml[activation=relu;own_dim=0]",
    "plain edges": "dxml[activation=relu;edges=plain]",
    "one network": "dxml[activation=relu;networks=1]",
    "one cluster, all searched": "dxml[activation=relu;clusters=1]",
    "nearest cluster only": "dxml[activation=relu;probes=1]",
    "smooth L1, unit targets": "dxml[activation=relu;loss=smooth_l1;targets=unit]",
    "the paper's: smooth L1, plain targets, plain edges": "dxml:paper[activation=relu]",
}


def main() -> None:
    show(run(arguments(__doc__ or "", ["delicious", "debian-deps"]), VARIANTS), VARIANTS)


if __name__ == "__main__":
    main()
