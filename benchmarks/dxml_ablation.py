"""DXML's parts against each other: python -m benchmarks.dxml_ablation [--data delicious debian-deps] [--seeds 3]

Figure 2's question (ReLU or linear), where label vectors come from, and what each deviation from the paper is worth.
One network is trained, on the nine tenths of train that are not held out for the choices.
"""

from __future__ import annotations

from benchmarks.ablation import arguments, run, show

SHORT = "networks=1;refit=false"
VARIANTS = {
    "one network, ReLU": f"dxml[activation=relu;{SHORT}]",
    "linear instead of ReLU (Figure 2)": f"dxml[activation=linear;{SHORT}]",
    "PPMI-SVD instead of DeepWalk": f"dxml[activation=relu;vectors=ppmi;{SHORT}]",
    "random vectors instead of DeepWalk": f"dxml[activation=relu;vectors=random;{SHORT}]",
    "DeepWalk, no direction of its own": f"dxml[activation=relu;own_dim=0;{SHORT}]",
    "PPMI-SVD, no direction of its own": f"dxml[activation=relu;vectors=ppmi;own_dim=0;{SHORT}]",
    "random, no direction of its own": f"dxml[activation=relu;vectors=random;own_dim=0;{SHORT}]",
    "plain edges": f"dxml[activation=relu;edges=plain;own_dim=0;{SHORT}]",
    "nearest cluster only": f"dxml[activation=relu;probes=1;{SHORT}]",
    "smooth L1, unit targets": f"dxml[activation=relu;loss=smooth_l1;targets=unit;own_dim=0;{SHORT}]",
    "the paper's: smooth L1, plain targets, plain edges": "dxml:paper[activation=relu;refit=false]",
}


def main() -> None:
    show(run(arguments(__doc__ or "", ["delicious", "debian-deps"]), VARIANTS), VARIANTS)


if __name__ == "__main__":
    main()
