"""The recipes for Spark and Dask: their code as it stands in the docs, on pandas partitions and on the engines."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from zipfel import Zipfel

pd = pytest.importorskip("pandas")
PAGES = Path(__file__).resolve().parents[2] / "docs" / "howto"
TEXTS = ["a red bike", "a blue boat", "two red bikes and a bike", "boats on the sea"] * 5
NAMES = [["bike"], ["boat"], ["bike", "wheels"], ["boat", "sea"]] * 5


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "model"
    Zipfel("knn", n_neighbors=2, sharpness=1, rarity=0).fit(TEXTS, NAMES).save(folder)
    return folder


def code_of(page: str) -> list[str]:
    found: list[str] = re.findall(r"```python\n(.*?)```", (PAGES / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    return found


def names_of(*blocks: str) -> dict[str, Any]:
    """What the code defines."""
    found: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "recipe", "exec", dont_inherit=True), found)
    return found


def expected(model: Path, k: int) -> list[list[tuple[str, float]]]:
    return [[(str(name), float(p)) for name, p in row] for row in Zipfel.load(model).predict(TEXTS, k=k).rows()]


def test_spark_s_function_on_batches(model: Path) -> None:
    tagged = names_of(code_of("spark.md")[0])["tagged"]
    batches = [pd.Series(TEXTS[:8], index=range(5, 13)), pd.Series([None]), pd.Series([None, *TEXTS[8:]])]
    one, two, three = tagged(str(model), 2, iter(batches))
    assert one.index.tolist() == list(range(5, 13))
    assert two.isna().all()
    assert three.isna().tolist() == [True] + [False] * 12
    found = [[(label["label"], label["probability"]) for label in row] for row in [*one, *three.iloc[1:]]]
    assert found == expected(model, 2)


def test_dask_s_function_on_partitions(model: Path) -> None:
    tagged = names_of(code_of("dask.md")[0])["tagged"]
    part = pd.DataFrame({"body": [*TEXTS, None], "id": range(21)}, index=range(100, 121))
    found = tagged(part, str(model), "body", 2)
    assert found["id"].tolist() == list(range(21))
    rows = [list(zip(*row, strict=True)) for row in zip(found["labels"][:20], found["probabilities"][:20], strict=True)]
    assert rows == expected(model, 2)
    assert found["labels"].isna().tolist() == [False] * 20 + [True]
    assert tagged(part[:0], str(model), "body")["labels"].tolist() == []


@pytest.mark.slow
def test_dask_itself(model: Path) -> None:
    frames = pytest.importorskip("dask.dataframe")
    made = names_of(*code_of("dask.md"))
    table = frames.from_pandas(pd.DataFrame({"text": TEXTS}), npartitions=3)
    found = made["with_labels"](table, str(model), k=2).compute(scheduler="threads")
    assert [row[0] for row in found["labels"]] == [row[0][0] for row in expected(model, 2)]


@pytest.mark.slow
def test_spark_itself(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark_sql = pytest.importorskip("pyspark.sql")
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    builder = spark_sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    try:
        table = spark.createDataFrame([(i, text) for i, text in enumerate(TEXTS)], "id int, text string")
        rows = names_of(*code_of("spark.md"))["with_labels"](table, str(model), k=2).orderBy("id").collect()
        found = [[(label["label"], label["probability"]) for label in row["labels"]] for row in rows]
        assert found == expected(model, 2)
    finally:
        spark.stop()
