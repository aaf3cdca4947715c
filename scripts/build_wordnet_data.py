"""Makes labelled documents of WordNet's nouns: short texts whose labels are a taxonomy.

    apt-get install wordnet-base                 # /usr/share/wordnet/data.noun
    python scripts/build_wordnet_data.py --out data/wordnet [--kind ancestors|parents] [--nouns FILE]

A document is a noun: its words and their definition (`ancestors`), or the definition alone (`parents`). Its labels are
what it is a kind or an instance of, up to three steps up, or one. A hash of its number decides the side, one fifth is
for testing, and the order: WordNet's own has siblings side by side.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

STEPS = {"ancestors": 3, "parents": 1}
IS_A = ("@", "@i")
TEST_FIFTH = 5


@dataclass(frozen=True)
class Noun:
    words: list[str]
    gloss: str
    parents: list[str]


def read_nouns(file: Path) -> dict[str, Noun]:
    """By number; the format is that of wndb(5WN)."""
    nouns = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):  # the licence
            continue
        head, _, gloss = line.partition(" | ")
        fields = head.split()
        end = 4 + 2 * int(fields[3], 16)
        words = [word.replace("_", " ") for word in fields[4:end:2]]
        pointers = [fields[end + 1 + 4 * i : end + 5 + 4 * i] for i in range(int(fields[end]))]
        parents = [target for kind, target, of, _ in pointers if kind in IS_A and of == "n"]
        nouns[fields[0]] = Noun(words, gloss.strip(), parents)
    return nouns


def above(nouns: Mapping[str, Noun], noun: Noun, steps: int) -> list[str]:
    """Names of what it is, nearest first; a number after each tells senses of a word apart."""
    found: dict[str, None] = {}
    level = noun.parents
    for _ in range(steps):
        found |= dict.fromkeys(level)
        level = [parent for number in level for parent in nouns[number].parents]
    return [f"{nouns[number].words[0]}#{number}" for number in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for train.jsonl and test.jsonl")
    parser.add_argument("--kind", choices=tuple(STEPS), default="ancestors")
    parser.add_argument("--nouns", type=Path, default=Path("/usr/share/wordnet/data.noun"))
    args = parser.parse_args()
    if not args.nouns.is_file():
        raise SystemExit(f"{args.nouns} is not there: apt-get install wordnet-base, or name the file with --nouns")
    nouns = read_nouns(args.nouns)
    args.out.mkdir(parents=True, exist_ok=True)
    hashes = {number: hashlib.sha256(number.encode()).digest() for number in nouns}
    with (args.out / "train.jsonl").open("w") as train, (args.out / "test.jsonl").open("w") as test:
        for number in sorted(nouns, key=hashes.__getitem__):
            noun = nouns[number]
            labels = above(nouns, noun, STEPS[args.kind])
            text = noun.gloss if args.kind == "parents" else f"{', '.join(noun.words)}. {noun.gloss}"
            if labels:
                row = {"id": number, "text": text, "labels": labels}
                file = test if hashes[number][-1] % TEST_FIFTH == 0 else train
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
