"""What may still be taken: the machine's free memory, the cgroup's (version 1 and 2), and what ulimit leaves."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract import QUICK
from tests.limited import run_limited
from zipfel import Zipfel
from zipfel.errors import ResourceError
from zipfel.methods import method_names
from zipfel.system import memory
from zipfel.system.memory import available_memory, check_memory

GB = 1 << 30


def machine(root: Path, cgroup: str, files: dict[str, str]) -> Path:
    more = {"proc/meminfo": f"MemTotal: 1 kB\nMemAvailable: {8 * GB // 1024} kB\n", "proc/self/cgroup": cgroup}
    for name, text in {**more, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_machine(tmp_path: Path) -> None:
    assert available_memory(machine(tmp_path, "", {})) == 8 * GB
    assert available_memory(tmp_path / "no-linux") is None


def test_a_cgroup_of_version_2_and_those_around_it(tmp_path: Path) -> None:
    inner, outer = "sys/fs/cgroup/a/b", "sys/fs/cgroup/a"
    files = {f"{inner}/memory.max": "max", f"{inner}/memory.current": "5", f"{outer}/memory.current": str(2 * GB)}
    files |= {f"{outer}/memory.max": f"{3 * GB}\n", f"{outer}/memory.stat": f"anon 7\ninactive_file {GB // 2}\n"}
    assert available_memory(machine(tmp_path, "0::/a/b\n", files)) == 3 * GB // 2


def test_a_cgroup_of_version_2_seen_from_inside_a_container(tmp_path: Path) -> None:
    files = {"sys/fs/cgroup/memory.max": str(GB), "sys/fs/cgroup/memory.current": "0"}
    assert available_memory(machine(tmp_path, "0::/../../docker/x\n", files)) == GB


def test_a_cgroup_of_version_1(tmp_path: Path) -> None:
    folder = "sys/fs/cgroup/memory/job"
    files = {f"{folder}/memory.limit_in_bytes": str(2 * GB), f"{folder}/memory.usage_in_bytes": str(GB)}
    files |= {"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"}
    files |= {f"{folder}/memory.stat": "total_inactive_file 1024\n"}
    assert available_memory(machine(tmp_path, "4:memory:/job\n3:cpu:/x\n", files)) == GB + 1024


@pytest.mark.parametrize("kind", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_ulimit(kind: str) -> None:
    code = f"""
import resource
from zipfel.system.memory import available_memory
resource.setrlimit(resource.{kind}, ({4 * GB}, {4 * GB}))
assert 0 < available_memory() < {4 * GB}
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert hasattr(resource, kind)


def test_a_check_tells_both_numbers_and_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: GB)
    check_memory(GB, "it", "take less")
    with pytest.raises(ResourceError, match=r"it needs about 3\.2 GB and 1\.1 GB are free: take less"):
        check_memory(3 * GB, "it", "take less")


@pytest.mark.parametrize("name", sorted(set(method_names()) - {"popular"}))
def test_every_method_asks_before_it_begins(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that is far too large for what is free ends at once, in words."""
    texts = [f"word{i} word{i * 7 % 50}" for i in range(64)]
    labels = [[f"l{i % 8}"] for i in range(64)]
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    with pytest.raises(ResourceError, match="GB are free"):
        Zipfel(name, threads=1, **QUICK.get(name, {})).fit(texts, labels)


LARGE = """
import json
import numpy as np, scipy.sparse as sp
from zipfel import Zipfel
from zipfel.errors import ResourceError
rng = np.random.default_rng(0)
n, width = 40_000, 60
columns = rng.integers(0, 100_000, n * width)
X = sp.csr_matrix((np.ones(n * width, np.float32), columns, np.arange(0, n * width + 1, width)), (n, 100_000))
Y = sp.csr_matrix((np.ones(n, np.float32), rng.integers(0, 30_000, n), np.arange(n + 1)), (n, 30_000))
try:
    Zipfel(sys.argv[1], weighting="none", threads=1, **json.loads(sys.argv[2])).fit(X, Y)
except ResourceError as error:
    print("told")
"""
IMPORTS = """
import zipfel.classifier, torch, faiss, scipy.sparse
from zipfel.methods import method_class, method_names
[method_class(name) for name in method_names()]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "params", "megabytes"),
    [("auto", {}, 200), ("rankae", {}, 120), ("lightdxml", {"dim": 2000}, 500)],
)
def test_too_little_is_told_under_ulimit(name: str, params: dict[str, object], megabytes: int) -> None:
    told = run_limited(LARGE, name, json.dumps(params), seconds=60, megabytes=megabytes, imports=IMPORTS)
    assert "told" in told
