"""Makes labelled documents of what a Debian machine has at hand: its package index, or its manual pages.

    python scripts/build_index_data.py --out data/maintainers --kind maintainers
    python scripts/build_index_data.py --out data/manuals --kind manuals [--manuals FOLDER] [--split 1]

maintainers, suggests: a package's name and short description -> who maintains it, or which packages it suggests.
tags: the names of the packages that it needs -> its debtags. manuals: the text of a page -> the pages under SEE ALSO.
Labels of one document only are left out, and so are documents that differ from another in digits alone. A hash of the
source package, or of the first letters of a page's name, decides the side, one fifth is for testing, and the order;
with --split, a number, runs of 15 rows in that order are drawn instead, a quarter of them for testing.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

TEST_FIFTH = 5
RUN, LETTERS, LONGEST = 15, 8, 4000
KINDS = ("maintainers", "suggests", "tags", "manuals")
HEADING = re.compile(r'^\.(SH|Sh|SS)\s+"?SEE ALSO"?.*$', re.M | re.I)
PAGE = re.compile(r"([A-Za-z_][\w:.+-]*)\s*\((\d\w{0,3})\)")
NO_TEXT = re.compile(r"^\.(de|if|ie|el|ds|nr|tr|TH|Dd|Dt|Os|IX|so).*$|^\.\\\".*$", re.M)
FONTS = re.compile(r"\\[fs](\(..|\[.*?\]|[-+]?\d|.)|\\[&%|^e-]")


class Document(NamedTuple):
    key: str
    text: str
    labels: list[str]


def packages(index: str, kind: str) -> Iterator[Document]:
    """index: as `apt-cache dumpavail` prints it."""
    for entry in index.split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", entry, re.M))
        if "Package" not in fields:
            continue
        source = re.sub(r"[\d.]+", "", fields.get("Source", fields["Package"]).split()[0])
        short = fields.get("Description", fields.get("Description-en", ""))
        text = f"{fields['Package'].replace('-', ' ')} {short}"
        if kind == "maintainers":
            yield Document(source, text, [re.sub(r" <.*", "", fields.get("Maintainer", ""))])
        elif kind == "suggests":
            yield Document(source, text, _names(fields.get("Suggests", "")))
        elif tags := re.search(r"^Tag:(.*(?:\n .*)*)", entry, re.M):
            needed = _names(fields.get("Depends", "")) + _names(fields.get("Recommends", ""))
            words = " ".join(re.sub(r"[-.]", "_", name).replace("+", "p") for name in needed)
            yield Document(source, words, re.findall(r"[a-z-]+::[\w:+.-]+", tags[1]))


def _names(field: str) -> list[str]:
    return [re.sub(r"[ (:].*", "", part.strip()) for part in re.split(r"[,|]", field) if part.strip()]


def manuals(folder: Path) -> Iterator[Document]:
    """Pages of man*/ that name others under SEE ALSO; what they say before that."""
    for path in sorted(path for path in folder.glob("man*/*.gz") if path.is_file()):  # some links lead nowhere
        page = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
        heading = HEADING.search(page)
        if heading is None:
            continue
        see = re.split(r"^\.(?:SH|Sh)\s", page[heading.end() :], maxsplit=1, flags=re.M)[0]
        see = re.sub(r"\\f.|\\s[-+]?\d|\\&|\\%", "", see)
        see = re.sub(r"^\.(?:BR|IR|Xr|B|BI|MR)\s+(\S+)\s*\(?(\d\w*)\)?", r"\1(\2)", see, flags=re.M)
        name = path.name.removesuffix(".gz").rsplit(".", 1)[0].lower()
        labels = [f"{word.lower()}({part})" for word, part in PAGE.findall(see.replace("\\-", "-").replace('"', ""))]
        text = FONTS.sub("", re.sub(r"^[.'][A-Za-z]{1,3}\b", " ", NO_TEXT.sub("", page[: heading.start()]), flags=re.M))
        words = " ".join(re.findall(r"[A-Za-z][A-Za-z0-9_']+", text))[:LONGEST]
        key = re.sub(r"[\d_]+$", "", name)[:LETTERS]
        yield Document(key, words, [label for label in labels if label.rsplit("(", 1)[0] != name])


def kept(documents: Iterable[Document]) -> list[Document]:
    """In the order of their keys' hashes; no labels of one document only, no twins."""
    found: dict[str, Document] = {}
    for document in sorted(documents, key=lambda document: _hash(document.key)):
        found.setdefault(re.sub(r"\d+", "", document.text).strip(), document)
    found.pop("", None)
    counts = Counter(label for document in found.values() for label in set(document.labels))
    rows = []
    for document in found.values():
        labels = sorted({label for label in document.labels if label and counts[label] > 1})
        if labels:
            rows.append(document._replace(labels=labels))
    return rows


def sides(rows: list[Document], split: int | None) -> tuple[list[Document], list[Document]]:
    """For training, for testing."""
    if split is not None:
        runs = [rows[start : start + RUN] for start in range(0, len(rows), RUN)]
        random.Random(split).shuffle(runs)
        cut = len(runs) // 4
        return [row for run in runs[cut:] for row in run], [row for run in runs[:cut] for row in run]
    train: list[Document] = []
    test: list[Document] = []
    for row in rows:
        (test if _hash(row.key)[-1] % TEST_FIFTH == 0 else train).append(row)
    return train, test


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for train.jsonl and test.jsonl")
    parser.add_argument("--kind", choices=KINDS, required=True)
    parser.add_argument("--manuals", type=Path, default=Path("/usr/share/man"), help="folder with man1, man2 and so on")
    parser.add_argument("--split", type=int, help="which random split; default: by the hash")
    args = parser.parse_args()
    if args.kind == "manuals":
        rows = kept(manuals(args.manuals))
    else:
        index = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
        rows = kept(packages(index, args.kind))
    if not rows:
        raise SystemExit("found nothing: apt-get update brings the index, --manuals says where pages are")
    args.out.mkdir(parents=True, exist_ok=True)
    for name, side in zip(("train", "test"), sides(rows, args.split), strict=True):
        lines = (json.dumps({"text": row.text, "labels": row.labels}, ensure_ascii=False) for row in side)
        (args.out / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
