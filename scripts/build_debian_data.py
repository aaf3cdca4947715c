"""Rebuilds the bundled data from Debian's package index.

    apt-get -o Acquire::Languages=en update      # once: fetches the index and the long descriptions
    python scripts/build_debian_data.py --out data/debian [--kind tags|deps]

A document is a package's short and long description; its labels are its debtags (`tags`), or the packages that it
depends on or recommends (`deps`); labels of a single document are left out. Packages of one source whose words
overlap by a Jaccard of 0.8 or more are one document, and so are texts that are equal but for digits. A source's name
without its version numbers decides the side: one fifth is for testing. The files that the package ships were made
by this recipe from an earlier index, with a slightly other comparison of texts: 99 % of their documents are the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import zstandard

OVERLAP = 0.8
TEST_FIFTH = 5


@dataclass
class Document:
    id: str
    source: str
    text: str
    labels: set[str]
    words: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.words = frozenset(self.text.lower().split())


def index_text(created_by: str) -> str:
    """The text of apt's index files of that kind, for bookworm's main."""
    listed = subprocess.run(
        [
            "apt-get",
            "-o",
            "Acquire::Languages=en",
            "indextargets",
            "--format",
            "$(CODENAME) $(COMPONENT) $(FILENAME)",
            f"Created-By: {created_by}",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    files = [line.split(maxsplit=2)[2] for line in listed.splitlines() if line.startswith("bookworm main ")]
    if not files:
        raise SystemExit(f"apt has no {created_by}: run `apt-get -o Acquire::Languages=en update` first")
    return "\n".join(
        subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", file], capture_output=True, text=True, check=True).stdout
        for file in files
    )


def stanzas(text: str) -> Iterator[dict[str, str]]:
    """Debian's control format: `Field: value`, continued on lines that start with a space."""
    for block in text.split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in block.splitlines():
            if line[:1].isspace():
                fields[name] += "\n" + line.strip()
            elif ":" in line:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
        if "Package" in fields:
            yield fields


def plain(description: str) -> str:
    """A description as running text: lone dots stand for empty lines."""
    return " ".join(word for line in description.splitlines() if line != "." for word in line.split())


def tags(package: dict[str, str]) -> set[str]:
    """Debtags; `a::{b,c}` stands for a::b and a::c, and special:: tags are marks of the taggers."""
    found = set()
    for word in re.findall(r"[^,\s{]+(?:\{[^}]*\})?", package.get("Tag", "")):
        facet, brace, values = word.partition("{")
        found |= {facet + value for value in values.rstrip("}").split(",")} if brace else {word}
    return {tag for tag in found if "::" in tag and not tag.startswith("special::")}


def dependencies(package: dict[str, str]) -> set[str]:
    names = re.split(r"[,|]", package.get("Depends", "") + "," + package.get("Recommends", ""))
    return {re.split(r"[\s(:\[]", name.strip())[0] for name in names} - {""}


def documents(kind: str) -> Iterator[Document]:
    long_texts = {
        s["Description-md5"]: s["Description-en"] for s in stanzas(index_text("Translations")) if "Description-en" in s
    }
    seen = set()
    for package in stanzas(index_text("Packages")):
        name = package["Package"]
        labels = tags(package) if kind == "tags" else dependencies(package)
        if name in seen or not labels:
            continue
        seen.add(name)
        description = long_texts.get(package.get("Description-md5", ""), package.get("Description", ""))
        source = package.get("Source", name).split()[0]
        yield Document(name, source, plain(description), labels)


def merged(found: Iterable[Document]) -> list[Document]:
    """Near-duplicates become one document with all of their labels."""
    kept: list[Document] = []
    by_source: dict[str, list[Document]] = defaultdict(list)
    by_text: dict[str, Document] = {}
    for document in found:
        digitless = re.sub(r"\d+", "", document.text)
        twin = by_text.get(digitless) or next((o for o in by_source[document.source] if alike(o, document)), None)
        if twin is not None:
            twin.labels |= document.labels
            continue
        kept.append(document)
        by_source[document.source].append(document)
        by_text[digitless] = document
    return kept


def alike(a: Document, b: Document) -> bool:
    union = len(a.words | b.words)
    return union > 0 and len(a.words & b.words) / union >= OVERLAP


def is_test(document: Document) -> bool:
    name = re.sub(r"-?\d+(\.\d+)*", "", document.source)
    return int(hashlib.sha256(name.encode()).hexdigest()[:16], 16) % TEST_FIFTH == 0


def write(path: Path, rows: Iterable[Document]) -> None:
    lines = (json.dumps({"id": d.id, "text": d.text, "labels": sorted(d.labels)}, ensure_ascii=False) for d in rows)
    path.write_bytes(zstandard.ZstdCompressor(level=22).compress(("\n".join(lines) + "\n").encode()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--kind", choices=("tags", "deps"), default="tags")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    rows = merged(documents(args.kind))
    counts = Counter(label for d in rows for label in d.labels)
    for d in rows:
        d.labels = {label for label in d.labels if counts[label] >= 2}
    rows = [d for d in rows if d.labels]
    for part, wanted in (("train", False), ("test", True)):
        chosen = [d for d in rows if is_test(d) is wanted]
        path = args.out / f"debian-{args.kind}.{part}.jsonl.zst"
        write(path, chosen)
        print(f"{path}: {len(chosen):,} documents, {len({x for d in chosen for x in d.labels}):,} labels")


if __name__ == "__main__":
    main()
