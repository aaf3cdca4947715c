"""The estimator from the outside: texts or matrices in, names out, the same after save and load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel import Dataset, Zipfel
from zipfel.data import synth
from zipfel.errors import DataError, ModelFileError, NotFittedError, ParameterError
from zipfel.persistence import ModelFiles, load_model, save_model

TEXTS = ["red bike wheel", "blue boat sail", "red boat paint", "bike chain oil", "sail and mast of a boat", "oil paint"]
NAMES = [["bike"], ["boat"], ["boat", "paint"], ["bike", "oil"], ["boat"], ["oil", "paint"]]


@pytest.fixture(scope="module")
def model() -> Zipfel:
    return Zipfel("knn", n_neighbors=3).fit(TEXTS, NAMES)


def test_texts_in_names_out(model: Zipfel) -> None:
    ranking = model.predict(["a bike", "the mast of my boat", "", "qwertz"], k=2)
    rows = list(ranking.rows())
    assert rows[0][0][0] == "bike"
    assert rows[1][0][0] == "boat"
    assert ranking.labels.shape == (4, 2)


def test_names_ids_and_matrices_give_the_same_model() -> None:
    X = sp.random(30, 12, 0.4, format="csr", random_state=np.random.default_rng(0), dtype=np.float32)
    ids = [[i % 3, (i + 1) % 4] for i in range(30)]
    Y = np.zeros((30, 4))
    for i, row in enumerate(ids):
        Y[i, row] = 1
    by_ids = Zipfel("centroid").fit(X, ids).predict(X, k=2)
    by_matrix = Zipfel("centroid").fit(X.toarray(), sp.csr_matrix(Y)).predict(X, k=2)
    by_names = Zipfel("centroid").fit(X, [["abcd"[i] for i in row] for row in ids]).predict(X, k=2)
    np.testing.assert_array_equal(by_ids.labels, by_matrix.labels)
    np.testing.assert_array_equal(by_ids.labels, by_names.labels)
    assert by_names.label_names == ["a", "b", "c", "d"]


def test_save_and_load(model: Zipfel, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    loaded = Zipfel.load(tmp_path / "m")
    asked = ["red boat", "oil for a bike chain", ""]
    before, after = model.predict(asked, k=4), loaded.predict(asked, k=4)
    np.testing.assert_array_equal(before.labels, after.labels)
    np.testing.assert_array_equal(before.scores, after.scores)
    assert loaded.get_params() == model.get_params()
    assert loaded.evaluate(TEXTS, NAMES) == model.evaluate(TEXTS, NAMES)


def test_matrix_models_keep_their_weighting(tmp_path: Path) -> None:
    X = sp.csr_matrix(np.array([[1, 1, 0], [1, 0, 1], [1, 1, 1]], dtype=np.float32))
    model = Zipfel("knn", weighting="tfidf").fit(X, [[0], [1], [0]])
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(Zipfel.load(tmp_path / "m").predict(X).scores, model.predict(X).scores)


def test_columns_beyond_the_model_are_ignored_in_files_and_refused_in_matrices() -> None:
    X = sp.csr_matrix(np.eye(3, dtype=np.float32))
    fitted = Zipfel("knn", weighting="l2").fit(X, [[0], [1], [2]])
    wide = sp.csr_matrix(np.eye(3, 9, dtype=np.float32) * 2)
    file = Dataset(X=wide, Y=sp.csr_matrix((3, 3)))
    np.testing.assert_array_equal(fitted.predict(file, k=1).labels, [[0], [1], [2]])
    with pytest.raises(DataError, match="9 features"):
        fitted.predict(wide)


def test_true_labels_that_the_model_never_saw_count_as_missed(model: Zipfel) -> None:
    known = model.evaluate(["red bike wheel"], [["bike"]], ks=(1,))
    partly = model.evaluate(["red bike wheel"], [["bike", "unicycle"]], ks=(1,))
    assert known["R@1"] == 1.0
    assert partly["R@1"] == 0.5
    assert partly["P@1"] == 1.0


def test_scores_as_csr(model: Zipfel) -> None:
    scores = model.predict_scores(TEXTS)
    assert scores.shape == (6, 4)
    top = model.predict(TEXTS, k=1)
    np.testing.assert_array_equal(np.asarray(scores.argmax(axis=1)).ravel(), top.labels[:, 0])


def test_unfitted_and_wrong_use_is_told() -> None:
    with pytest.raises(NotFittedError, match="call fit"):
        Zipfel().predict(["a"])
    with pytest.raises(ParameterError, match="did you mean 'knn'"):
        Zipfel("kn").fit(TEXTS, NAMES)
    with pytest.raises(ParameterError, match="n_neighbors"):
        Zipfel("knn", n_neigbors=3).fit(TEXTS, NAMES)
    with pytest.raises(ParameterError, match="weighting"):
        Zipfel("knn", weighting="bm25").fit(np.eye(2), [[0], [1]])
    with pytest.raises(DataError, match="no row has a label"):
        Zipfel("knn").fit(TEXTS[:2], [[], []])
    fitted = Zipfel("centroid").fit(np.eye(2), [[0], [1]])
    with pytest.raises(DataError, match="not texts"):
        fitted.predict(["a text"])
    with pytest.raises(ParameterError, match="at least 1"):
        fitted.predict(np.eye(2), k=0)


def test_texts_model_refuses_matrices(model: Zipfel) -> None:
    with pytest.raises(DataError, match="trained on texts"):
        model.predict(np.eye(2))


def test_set_params_names_the_nearest_parameter() -> None:
    with pytest.raises(ParameterError, match="n_neighbors"):
        Zipfel("knn").set_params(n_neighbours=3)


def test_the_same_seed_gives_the_same_model_and_the_data_is_left_alone() -> None:
    X = sp.random(50, 20, 0.3, format="csr", random_state=np.random.default_rng(0), dtype=np.float32)
    Y = sp.random(50, 9, 0.3, format="csr", random_state=np.random.default_rng(1), dtype=np.float32)
    X_before, Y_before = X.copy(), Y.copy()
    first, second = (Zipfel("knn", seed=3).fit(X, Y).predict(X).scores for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert (X_before != X).nnz == 0
    assert (Y_before != Y).nnz == 0


def crafted(files: ModelFiles, folder: Path, config: dict[str, Any] | None = None, **arrays: Any) -> Path:
    """The model with other arrays or facts, and right checksums."""
    kept = {k: v for k, v in files.config.items() if k != "files"} | (config or {})
    save_model(folder, ModelFiles(kept, {**files.arrays, **arrays}, files.documents))
    return folder


@pytest.mark.parametrize(("by", "who"), [("0.0.9", "zipfel 0.0.9"), (None, "another development version of zipfel")])
def test_a_model_of_another_version_is_not_called_damaged(by: str | None, who: str, tmp_path: Path) -> None:
    folder = tmp_path / "m"
    Zipfel("knn").fit(TEXTS, NAMES).save(folder)
    files = load_model(folder)
    kept = {name: array for name, array in files.arrays.items() if name != "method.Y.indptr"}
    config = {**files.config, "facts": {}, **({"library_version": by} if by else {})}
    config.pop("files")
    save_model(folder, ModelFiles(config, kept, files.documents))
    with pytest.raises(ModelFileError, match=rf"it was saved by {who}.*fit it again") as caught:
        Zipfel.load(folder)
    assert "damaged" not in str(caught.value).split("fit it again")[0]


@pytest.fixture(scope="module", params=["knn", "centroid"])
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ModelFiles:
    folder = tmp_path_factory.mktemp("model") / "m"
    Zipfel(request.param).fit(TEXTS, NAMES).save(folder)
    return load_model(folder)


def test_crafted_arrays_with_a_right_checksum_are_refused(saved: ModelFiles, tmp_path: Path) -> None:
    """Indices out of range would let a kernel read foreign memory."""
    for name, array in saved.arrays.items():
        evil = {"shape": array[None], "short": array[:-1]}
        if name.endswith("indices"):
            evil |= {"range": array + 1_000_000, "negative": array - 1_000, "float": array.astype(np.float64)}
        if name.endswith("indptr"):
            unsigned = array.astype(np.uint64)
            unsigned[1] = 10**9  # and back down: a difference of unsigned numbers is never below 0
            evil |= {"unsigned": unsigned, "falling": np.where(np.arange(len(array)) == 1, 10**9, array)}
        if array.dtype.kind == "f":
            evil |= {"nan": np.full_like(array, np.nan), "inf": np.full_like(array, np.inf)}
        for attack, other in evil.items():
            folder = crafted(saved, tmp_path / attack, **{name: other})
            with pytest.raises(ModelFileError):
                Zipfel.load(folder)


@pytest.mark.parametrize("number", [-1, 10**12, float("inf"), float("nan"), "x", None, [], 0.5])
def test_crafted_sizes_are_refused(saved: ModelFiles, tmp_path: Path, number: object) -> None:
    attacks = [{"n_features": number}, {"n_labels": number}]
    if number is not None:
        attacks.append({"estimator": {**saved.config["estimator"], "threads": number}})
    if number != 10**12:
        attacks.append({"training": {"n_points": number}})
    if saved.config["facts"]:
        attacks.append({"facts": {**saved.config["facts"], "n_points": number}})
    for i, attack in enumerate(attacks):
        with pytest.raises(ModelFileError):
            Zipfel.load(crafted(saved, tmp_path / str(i), attack))


@pytest.mark.parametrize("name", ["sharpness", "rarity", "n_neighbors"])
@pytest.mark.parametrize("number", [-1, float("inf"), float("nan"), "x", None, []])
def test_crafted_rules_of_knn_are_refused(model: Zipfel, tmp_path: Path, name: str, number: object) -> None:
    model.save(tmp_path / "m")
    files = load_model(tmp_path / "m")
    with pytest.raises(ModelFileError, match=name):
        Zipfel.load(crafted(files, tmp_path / "crafted", {"facts": {**files.config["facts"], name: number}}))


def test_a_vectoriser_of_another_model_is_refused(saved: ModelFiles, tmp_path: Path) -> None:
    words = saved.documents["vectorizer"]
    more = {**words, "words": [*words["words"], "zz"], "df": [*words["df"], 1]}
    save_model(tmp_path / "m", ModelFiles(saved.config, saved.arrays, {**saved.documents, "vectorizer": more}))
    with pytest.raises(ModelFileError, match="vectoriser knows"):
        Zipfel.load(tmp_path / "m")


def test_a_dataset_is_enough(tmp_path: Path) -> None:
    data = Dataset(
        Y=sp.csr_matrix(np.eye(3, dtype=np.float32)), texts=["a dog", "big cats", "old cows"], label_names=list("dcw")
    )
    model = Zipfel("knn").fit(data)
    assert model.evaluate(data, ks=(1,))["P@1"] == 1.0


@pytest.mark.parametrize(
    "setting",
    [
        {"threads": 0},
        {"threads": "2"},
        {"seed": -1},
        {"valid_share": 3},
        {"propensity": "x"},
        {"device": "gpu"},
        {"weighting": "x"},
    ],
)
def test_wrong_settings_are_told_at_fit(setting: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(setting))):
        Zipfel("popular", **setting).fit(TEXTS, NAMES)


@pytest.mark.parametrize("k", [0, -1, 2.5, "2", None])
def test_wrong_k(model: Zipfel, k: Any) -> None:
    with pytest.raises(ParameterError, match="k must"):
        model.predict(["bike"], k=k)


def test_evaluate_without_truth_or_ranks(model: Zipfel) -> None:
    with pytest.raises(DataError, match="y"):
        model.evaluate(TEXTS)
    with pytest.raises(ParameterError, match="k must"):
        model.evaluate(TEXTS, NAMES, ks=())


def test_parameters_of_a_grid_search_can_be_saved(tmp_path: Path) -> None:
    Zipfel("knn", n_neighbors=np.int64(2), seed=np.int64(1)).fit(TEXTS, NAMES).save(tmp_path / "m")
    assert Zipfel.load(tmp_path / "m").get_params()["n_neighbors"] == 2


def test_new_documents_count_at_once_and_bring_new_labels(tmp_path: Path) -> None:
    model = Zipfel("knn", n_neighbors=1).fit(TEXTS, NAMES)
    assert model.partial_fit(["a purple kite", "red bike"], [["kite", "oil"], ["bike"]]) is model
    assert model.label_names_ == ["bike", "boat", "oil", "paint", "kite"]
    assert model.training_["n_points"] == len(TEXTS) + 2
    assert model.label_counts_.tolist() == [3, 3, 3, 2, 1]
    model.save(tmp_path / "m")
    for asked in (model, Zipfel.load(tmp_path / "m")):
        # "kite" is no word that the vectoriser knows: "a" is too short for one, so "red" and "bike" it is.
        assert next(asked.predict(["red bike"], k=1).rows())[0][0] == "bike"
        assert asked.predict_scores(["red bike"]).shape == (1, 5)


def test_new_documents_are_the_nearest_of_themselves() -> None:
    X = sp.csr_matrix(np.eye(4, dtype=np.float32))
    model = Zipfel("knn", weighting="l2", n_neighbors=1).fit(X[:3], [[0], [1], [0]])
    assert model.predict(X[3:], k=1).labels[0, 0] == 0  # shares nothing with train: the most frequent label
    model.partial_fit(X[3:], [[2]])
    assert model.predict(X, k=1).labels[:, 0].tolist() == [0, 1, 0, 2]
    assert model.n_labels_ == 3


def test_partial_fit_of_an_unfitted_model_is_fit() -> None:
    asked = ["red boat"]
    first, second = Zipfel("centroid").partial_fit(TEXTS, NAMES), Zipfel("centroid").fit(TEXTS, NAMES)
    np.testing.assert_array_equal(first.predict(asked).labels, second.predict(asked).labels)


def test_partial_fit_is_refused_in_words() -> None:
    with pytest.raises(ParameterError, match=r"'centroid' has no partial_fit; these have: knn, auto, dxml"):
        Zipfel("centroid").fit(TEXTS, NAMES).partial_fit(TEXTS, NAMES)
    X = sp.csr_matrix(np.eye(2, dtype=np.float32))
    with pytest.raises(DataError, match="use numbers for both"):
        Zipfel("knn").fit(X, [[0], [1]]).partial_fit(X, [["a"], ["b"]])
    with pytest.raises(ParameterError, match="no longer a parameter"):
        Zipfel("knn", **{"ranker.enabled": True}).fit(TEXTS * 2, NAMES * 2)
    with pytest.raises(ParameterError, match=r"'popular' has no explain; these have: knn, centroid, auto, ova, rankae"):
        Zipfel("popular").fit(TEXTS, NAMES).explain("red bike")


def test_partial_fit_by_ids_of_a_named_model() -> None:
    model = Zipfel("knn", n_neighbors=1).fit(TEXTS, NAMES)
    model.partial_fit(["paint a wheel"], [[3]])
    assert model.label_names_ == ["bike", "boat", "oil", "paint"]
    assert next(model.predict(["paint a wheel"], k=1).rows())[0][0] == "paint"
    with pytest.raises(DataError, match="only one of them has label names"):
        model.partial_fit(["paint a wheel"], [[4]])


@pytest.fixture(scope="module")
def explainer() -> Zipfel:
    small = {"word_dim": 16, "dim": 16, "hidden": 16, "epochs": 60, "batch": 8, "keep": 1.0, "loss": "bce"}
    small["start"] = 1.0
    return Zipfel("rankae", seed=1, **small).fit(TEXTS * 8, NAMES * 8)


def test_explain_names_the_words_that_speak_for_a_label(explainer: Zipfel) -> None:
    found = explainer.explain("Bike, my wheel & <b>", k=2)
    assert sorted(found.words) == ["bike", "wheel"]
    assert "".join(piece for piece, _ in found.pieces) == "Bike, my wheel & <b>"
    assert next(iter(found.contributions)) == "bike"
    assert found.top("bike", 1)[0][1] > 0
    assert set(found.contributions) == set(found.scores)
    assert "&lt;b&gt;" in found.to_html()


def test_explain_a_given_label(explainer: Zipfel) -> None:
    found = explainer.explain("oil paint", labels=["paint", 0], k=1)
    assert list(found.contributions) == ["paint", "bike"]
    with pytest.raises(ParameterError, match="did you mean 'paint'"):
        explainer.explain("oil paint", labels=["pant"])
    with pytest.raises(ParameterError, match="no label 'xyzzy'; it has 4, 'bike' is the first"):
        explainer.explain("oil paint", labels=["xyzzy"])
    with pytest.raises(DataError, match="one document at a time"):
        explainer.explain(["oil", "paint"])


def test_explain_a_row_without_names() -> None:
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.random((40, 6)).astype(np.float32))
    small = {"word_dim": 8, "dim": 8, "hidden": 8, "epochs": 2}
    model = Zipfel("rankae", weighting="l2", **small).fit(X, [[i % 2] for i in range(40)])
    found = model.explain(X[:1], k=1)
    assert found.words == [f"feature {i}" for i in range(6)]
    assert list(found.contributions) == [str(model.predict(X[:1], k=1).labels[0, 0])]
    assert found.to_dict()["text"].startswith("feature 0 feature 1 ")


def test_k_is_capped_at_the_number_of_labels(model: Zipfel) -> None:
    assert model.predict(["red bike"], k=10**6).shape == (1, 4)
    assert model.predict(["red bike"], k=3).shape == (1, 3)


def test_a_large_data_set_is_answered_in_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    data = synth(60, 300, 6)
    model = Zipfel("knn").fit(data)
    scores, ranking = model.evaluate(data), model.predict(data)
    monkeypatch.setattr("zipfel.classifier._RUN", 7)
    assert model.evaluate(data) == scores
    assert np.array_equal(model.predict(data).labels, ranking.labels)


def test_new_words_of_an_update_count(tmp_path: Path) -> None:
    model = Zipfel("knn", n_neighbors=1, sharpness=4, rarity=0).fit(TEXTS, NAMES)
    before = [list(row) for row in model.predict(TEXTS, 2).rows()]
    n_words = model.n_features_in_
    model.partial_fit(["zyzzyva weevil", "weevil beetle"], [["insect"], ["insect"]])
    assert model.n_features_in_ == model.rows_.n_features == n_words + 3
    assert next(model.predict(["a zyzzyva"], 1).rows())[0][0] == "insect"
    assert [[name for name, _ in row] for row in model.predict(TEXTS, 1).rows()] == [[row[0][0]] for row in before]
    model.save(tmp_path / "model")
    loaded = Zipfel.load(tmp_path / "model")
    assert next(loaded.predict(["a zyzzyva"], 1).rows())[0][0] == "insect"
    growth = loaded.training_["growth"]
    assert (growth["updates"], growth["documents"], growth["new_words"], growth["new_labels"]) == (1, 2, 3, 2)
    assert growth["advice"].startswith("fit again: ")
    loaded.partial_fit(["zyzzyva"], [["insect"]])
    assert loaded.training_["growth"]["updates"] == 2
    assert loaded.training_["growth"]["fitted_words"] == n_words


@pytest.mark.parametrize("effort", ["quick", "default"])
def test_a_new_word_alone_leads_to_its_label(effort: str, tmp_path: Path) -> None:
    things = ("bike", "boat", "kite", "lamp")
    texts = [f"a {color} {thing} number{i % 3}" for i in range(8) for thing in things for color in ("red", "blue")]
    names = [[thing] for _ in range(8) for thing in things for _ in range(2)]
    model = Zipfel("auto", effort=effort, seed=1).fit(texts, names)
    n_words = model.n_features_in_
    model.partial_fit(["a zyzzyva", "zyzzyva weevil"], [["insect"], ["insect"]])
    assert model.n_features_in_ == n_words + 2
    model.save(tmp_path / "model")
    for each in (model, Zipfel.load(tmp_path / "model")):
        assert each.predict(["zyzzyva"], 1).names == [["insect"]]
        assert each.predict(["the red boat"], 1).names == [["boat"]]
        assert each.explain("one zyzzyva").top("insect", 1)[0][0] == "zyzzyva"


def test_a_limit_of_words_holds_for_updates() -> None:
    model = Zipfel("auto", vectorizer={"max_features": 5}).fit(TEXTS, NAMES)
    model.partial_fit(["zyzzyva weevil"], [["insect"]])
    assert model.n_features_in_ == 5


def test_a_refused_update_changes_nothing() -> None:
    model = Zipfel("knn").fit(TEXTS, NAMES)
    n_words = model.rows_.n_features
    with pytest.raises(DataError):
        model.partial_fit(["zyzzyva", 3], [["insect"], ["insect"]])
    with pytest.raises(DataError):
        model.partial_fit(["zyzzyva", "weevil"], [["insect"]])
    assert model.rows_.n_features == n_words
    assert "growth" not in model.training_


def test_propensities_are_kept_and_can_be_given_anew(tmp_path: Path) -> None:
    plain = Zipfel("popular").fit(TEXTS, NAMES)
    own = Zipfel("popular", propensity="AmazonTitles-670K").fit(TEXTS, NAMES)
    own.save(tmp_path / "model")
    kept = Zipfel.load(tmp_path / "model").evaluate(TEXTS, NAMES)
    assert kept["PSP@3"] == own.evaluate(TEXTS, NAMES)["PSP@3"] != plain.evaluate(TEXTS, NAMES)["PSP@3"]
    assert plain.evaluate(TEXTS, NAMES, propensity="0.6,2.6") == kept
    assert own.evaluate(TEXTS, NAMES, propensity="0.55,1.5") == plain.evaluate(TEXTS, NAMES)
