"""Methods whose packages are not installed: what is said, and what still works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CORE = """
import sys
sys.modules["torch"] = sys.modules["faiss"] = None  # as if they were not installed
"""


def _run(code: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parents[2]
    return subprocess.run([sys.executable, "-c", CORE + code], cwd=root, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("method", ["lightdxml", "mnn"])
def test_a_method_without_its_package_names_the_pip_command(method: str) -> None:
    done = _run(f"from zipfel.methods import make_method; make_method({method!r})")
    assert f"method {method} needs the package 'torch': pip install 'zipfel[papers]'" in done.stderr


def test_methods_that_are_there_are_listed_and_explain_what_they_lack() -> None:
    done = _run(
        "from zipfel.methods.registry import installed_methods, methods_with\n"
        "assert 'auto' in installed_methods() and 'mnn' not in installed_methods(), installed_methods()\n"
        "assert 'auto' in methods_with('explain')\n"
        "from zipfel.cli.main import app; app(['methods'])"
    )
    assert done.returncode == 0, done.stderr
    assert "with pip install 'zipfel[papers]': " in done.stdout
