"""Makes labelled documents of what a Debian archive has besides package descriptions in English.

    python scripts/build_archive_data.py --files FOLDER --out data [--kind foldoc ...]

FOLDER holds files of an archive's dists/bookworm/main under their own names: source/Sources.xz, i18n/Translation-en.xz,
Translation-de.bz2 and Translation-fr.bz2, dep11/Components-amd64.yml.gz (PyYAML reads it), Contents-amd64.gz; and
foldoc.dict.dz and gcide.dict.dz out of the packages dict-foldoc and dict-gcide. The index itself is apt's. Kinds:

    de-tags, fr-deps     a description in German -> debtags; in French -> the packages that it needs
    builddeps            the descriptions of a source's packages -> what it is built with
    file-tags            the words of a package's file names -> debtags
    sections, homepages  name and description -> section (one each); description -> host of the homepage
    dep11                name, summary and description of an application -> categories and keywords
    foldoc               a definition of a word of computing -> the words that it refers to
    gcide-authors        an entry of a dictionary of English -> whom it quotes
    gcide-fields         an entry of it -> the field that it is marked with

Labels of one document only are left out, and so are documents that differ from another in digits alone. A hash of the
source package, or of an entry's beginning, decides the side, one fifth is for testing, and the order.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import hashlib
import json
import lzma
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

Document = tuple[str, str, list[str]]
"""Key, text, labels."""
OPENERS: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".bz2": bz2.open, ".gz": gzip.open, ".dz": gzip.open}
TEST_FIFTH, LONGEST, MOST_FILES = 5, 4000, 200


def stanzas(text: str) -> Iterator[dict[str, str]]:
    """Fields of each entry of a control file."""
    for entry in text.split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in entry.split("\n"):
            if line[:1] in (" ", "\t"):
                fields[name] = fields.get(name, "") + "\n" + line
            elif ":" in line:
                name, value = line.split(":", 1)
                fields[name] = value.strip()
        if fields:
            yield fields


def names(field: str) -> list[str]:
    return [re.split(r"[ (:|\[<]", part.strip())[0] for part in field.split(",") if part.strip()]


def tags(fields: dict[str, str]) -> list[str]:
    return re.findall(r"[a-z-]+::[\w:+.-]+", fields.get("Tag", ""))


def source(fields: dict[str, str]) -> str:
    return re.sub(r"[\d.]+", "", fields.get("Source", fields["Package"]).split()[0])


def one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


class Archive:
    """The files in a folder, and apt's index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, name: str) -> str:
        path = self.folder / name
        if not path.exists():
            raise SystemExit(f"{path} is not there; see --help for where it comes from")
        with OPENERS[path.suffix](path, "rt", encoding="utf-8", errors="replace") as file:
            return str(file.read())

    @cached_property
    def packages(self) -> dict[str, dict[str, str]]:
        index = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
        return {fields["Package"]: fields for fields in stanzas(index) if "Package" in fields}

    def described(self, name: str, language: str) -> Iterator[tuple[dict[str, str], str]]:
        """Packages and their descriptions in a language."""
        for fields in stanzas(self.read(name)):
            text = fields.get(f"Description-{language}")
            if text is not None and fields.get("Package") in self.packages:
                yield self.packages[fields["Package"]], one_line(text.replace("\n .\n", "\n"))

    @cached_property
    def english(self) -> dict[str, str]:
        return {fields["Package"]: text for fields, text in self.described("Translation-en.xz", "en")}

    def entries(self, name: str) -> Iterator[str]:
        """Of a dictionary: a line that is not indented, behind an empty one, begins an entry."""
        lines: list[str] = []
        for line in self.read(name).splitlines(keepends=True):
            if line[:1] not in (" ", "\n") and lines and lines[-1] == "\n":
                yield "".join(lines)
                lines = []
            lines.append(line)
        yield "".join(lines)


def de_tags(archive: Archive) -> Iterator[Document]:
    for fields, text in archive.described("Translation-de.bz2", "de"):
        yield source(fields), text, tags(fields)


def fr_deps(archive: Archive) -> Iterator[Document]:
    for fields, text in archive.described("Translation-fr.bz2", "fr"):
        yield source(fields), text, names(fields.get("Depends", "")) + names(fields.get("Recommends", ""))


def builddeps(archive: Archive) -> Iterator[Document]:
    for fields in stanzas(archive.read("Sources.xz")):
        texts = [archive.english[name] for name in names(fields.get("Binary", "")) if name in archive.english]
        needed = fields.get("Build-Depends", "") + "," + fields.get("Build-Depends-Indep", "")
        yield re.sub(r"[\d.]+", "", fields["Package"]), " ".join(dict.fromkeys(texts))[:3000], names(needed)


def file_tags(archive: Archive) -> Iterator[Document]:
    files: dict[str, list[str]] = defaultdict(list)
    for line in archive.read("Contents-amd64.gz").splitlines():
        path, _, owners = line.rstrip().rpartition(" ")
        for owner in owners.split(","):
            its_files = files[owner.split("/")[-1]]
            if len(its_files) < MOST_FILES:
                its_files.append(path.strip())
    for name, paths in files.items():
        if fields := archive.packages.get(name):
            words = dict.fromkeys(word for path in paths for word in re.split(r"[/_.\-\s]+", path))
            yield source(fields), " ".join(words)[:LONGEST], tags(fields)


def sections(archive: Archive) -> Iterator[Document]:
    for name, fields in archive.packages.items():
        text = f"{name.replace('-', ' ')} {archive.english.get(name, '')[:120]}"
        yield source(fields), text, [fields.get("Section", "")]


def homepages(archive: Archive) -> Iterator[Document]:
    for name, fields in archive.packages.items():
        if page := fields.get("Homepage"):
            yield source(fields), archive.english.get(name, ""), [re.sub(r"https?://(www\.)?([^/]*).*", r"\2", page)]


def dep11(archive: Archive) -> Iterator[Document]:
    import yaml

    for found in yaml.load_all(archive.read("Components-amd64.yml.gz"), Loader=yaml.CSafeLoader):
        if not found or ("Categories" not in found and "Keywords" not in found):
            continue
        texts = (str((found.get(part) or {}).get("C", "")) for part in ("Name", "Summary", "Description"))
        words = [str(word).lower() for word in (found.get("Keywords") or {}).get("C", []) if word]
        labels = [str(label) for label in found.get("Categories", [])] + words
        yield found.get("Package", ""), re.sub(r"<[^>]*>|\s+", " ", " ".join(texts)), labels


def foldoc(archive: Archive) -> Iterator[Document]:
    for entry in archive.entries("foldoc.dict.dz"):
        labels = [one_line(word).lower() for word in re.findall(r"\{([^{}]*)\}", entry)]
        yield entry[:40], one_line(entry), [label for label in labels if "(" not in label]


def gcide_authors(archive: Archive) -> Iterator[Document]:
    for entry in archive.entries("gcide.dict.dz"):
        text = re.sub(r"--[A-Z][\w. ]*?\.?\n|\[[^\]]*\]", " ", entry)
        yield entry[:40], one_line(text)[:LONGEST], re.findall(r"--([A-Z][\w. ]*?)\.?\n", entry)


def gcide_fields(archive: Archive) -> Iterator[Document]:
    for entry in archive.entries("gcide.dict.dz"):
        text = re.sub(r"\([A-Z][^)]*\)|\[[^\]]*\]", " ", entry)
        yield entry[:40], one_line(text)[:1500], re.findall(r"\(([A-Z][a-z]+\.(?: & [A-Z][a-z]+\.)?)\)", entry)


KINDS: dict[str, Callable[[Archive], Iterator[Document]]] = {
    "de-tags": de_tags, "fr-deps": fr_deps, "builddeps": builddeps, "file-tags": file_tags, "sections": sections,
    "homepages": homepages, "dep11": dep11, "foldoc": foldoc, "gcide-authors": gcide_authors,
    "gcide-fields": gcide_fields,
}  # fmt: skip


def _hash(key: str) -> int:
    return int(hashlib.md5(key.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:8], 16)


def write(folder: Path, documents: Iterable[Document]) -> None:
    """train.jsonl and test.jsonl."""
    found: dict[str, Document] = {}
    for key, text, labels in documents:
        if labels:
            found.setdefault(re.sub(r"\d+", "", text), (key, text, sorted(set(labels))))
    counts = Counter(label for _, _, labels in found.values() for label in labels)
    sides: dict[str, list[str]] = {"train": [], "test": []}
    for key, text, labels in sorted(found.values(), key=lambda document: (_hash(document[0]), document[0])):
        row = {"text": text, "labels": [label for label in labels if counts[label] > 1]}
        if row["labels"]:
            sides["test" if _hash(key) % TEST_FIFTH == 0 else "train"].append(json.dumps(row) + "\n")
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in sides.items():
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=Path, required=True, help="folder with the files that are named above")
    parser.add_argument("--out", type=Path, required=True, help="folder for a folder of each kind")
    parser.add_argument("--kind", choices=KINDS, nargs="+", default=list(KINDS))
    args = parser.parse_args()
    archive = Archive(args.files)
    for kind in args.kind:
        write(args.out / kind, KINDS[kind](archive))


if __name__ == "__main__":
    main()
