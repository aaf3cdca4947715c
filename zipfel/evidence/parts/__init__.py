"""One kind of evidence a file.

To add one, write its file here, its line in PARTS and its rule in `evidence/rules.py`.
`tests/evidence/test_parts.py` runs the contract on it.
"""

from __future__ import annotations

from zipfel.evidence.part import Part
from zipfel.evidence.parts.bridge import BridgePart
from zipfel.evidence.parts.classifiers import ClassifiersPart
from zipfel.evidence.parts.embeddings import EmbeddingsPart
from zipfel.evidence.parts.forest import ForestPart
from zipfel.evidence.parts.frequency import FrequencyPart
from zipfel.evidence.parts.joint import JointPart
from zipfel.evidence.parts.label_sets import LabelSetsPart
from zipfel.evidence.parts.names import NamesPart
from zipfel.evidence.parts.network import NetworkPart
from zipfel.evidence.parts.regression import RegressionPart
from zipfel.evidence.parts.tree import TreePart
from zipfel.evidence.parts.words import WordsPart

PARTS: dict[str, type[Part]] = {
    part.name: part
    for part in (
        WordsPart,
        ClassifiersPart,
        FrequencyPart,
        NamesPart,
        BridgePart,
        EmbeddingsPart,
        RegressionPart,
        TreePart,
        LabelSetsPart,
        ForestPart,
        JointPart,
        NetworkPart,
    )
}
"""By name, in the order in which their columns stand."""
