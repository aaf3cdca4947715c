"""Embeddings of documents and label names: given as arrays, or made by the user's own encoder.

An encoder is a function that takes a list of texts and returns an array with a row a text, or an object with such a
method `encode`, as sentence_transformers has. A model folder keeps its import path as a string for the error message.
Nothing is imported because a model folder says so.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data import Dataset
from zipfel.data.embeddings import checked_embeddings
from zipfel.errors import DataError, ParameterError
from zipfel.methods import Method
from zipfel.points import Sources, Vectors
from zipfel.run import Progress, Run, Silent

Encode = Callable[[list[str]], Any]
_RUN = 4096
"""Texts that an encoder is given at a time."""


def encoder_of(named: Any) -> Encode:
    """What encodes texts. named: an import path "package.module:name", a function, or an object with `encode`.

    >>> encoder_of(lambda texts: [[len(text)] for text in texts])(["abc"])
    [[3]]
    """
    found = _imported(named) if isinstance(named, str) else named
    encode = getattr(found, "encode", None)
    if inspect.isclass(found) or not (callable(encode) or callable(found)):
        raise ParameterError(
            f"the encoder {path_of(named) or named!r:.80} is {'a class' if inspect.isclass(found) else 'no function'}: "
            "name a function of a list of texts, or an object with a method encode"
        )
    chosen: Encode = encode if callable(encode) else found
    return chosen


def _imported(path: str) -> Any:
    """The object of an import path. Modules of the current folder are found, behind those that are installed."""
    module, colon, name = path.partition(":")
    if not (module and colon and name):
        raise ParameterError(f"an encoder is named by package.module:name, got {path!r}")
    sys.path.append("")
    try:
        found = importlib.import_module(module)
        for step in name.split("."):
            found = getattr(found, step)
    except Exception as error:
        raise ParameterError(f"the encoder {path} can't be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove("")
    return found


def path_of(named: Any) -> str | None:
    """The import path of an encoder, as far as it has one: a string for messages.

    >>> path_of(len), path_of("sizes:length")
    ('builtins:len', 'sizes:length')
    """
    if named is None or isinstance(named, str):
        return named
    module, name = getattr(named, "__module__", None), getattr(named, "__qualname__", None)
    return f"{module}:{name}" if module and name and "<" not in name else None


def encoded(named: Any, texts: Sequence[str | None], progress: Progress | None = None) -> Vectors:
    """(n, dim) of the texts; a text that is None has zeros.

    >>> encoded(lambda texts: [[len(text)] for text in texts], ["abc", "d"]).tolist()
    [[3.0], [1.0]]
    """
    encode, parts = encoder_of(named), []
    with (progress or Silent()).task("encoding texts", total=len(texts)) as task:
        for start in range(0, len(texts), _RUN):
            run = [text or "" for text in texts[start : start + _RUN]]
            parts.append(_encoded_run(encode, run))
            task.advance(len(run))
    if len({part.shape[1] for part in parts}) > 1:
        raise DataError("the encoder returned rows of different lengths")
    return np.concatenate(parts) if parts else np.zeros((0, 1), dtype=np.float32)


def _encoded_run(encode: Encode, texts: list[str]) -> Vectors:
    try:
        found = encode(texts)
    except Exception as error:
        raise DataError(f"the encoder failed: {type(error).__name__}: {error}") from error
    if hasattr(found, "detach"):  # a tensor, which may need gradients or lie on a GPU
        found = found.detach().cpu()
    try:
        vectors = np.asarray(checked_embeddings(found), dtype=np.float32)
    except DataError as error:
        raise DataError(f"what the encoder returned can't be used: {error}") from None
    if len(vectors) != len(texts):
        raise DataError(f"the encoder returned {len(vectors)} rows for {len(texts)} texts")
    return vectors


def embedded(sources: Sources, n: int, dim: int | None, named: Any, known: Any = None) -> Sources:
    """The sources of n documents with what the method reads: `dim` numbers a document, or none.

    named: the encoder that the user named; known: the import path of the one that the model was fitted with, as its
    folder has it.
    """
    if dim is None or not n:
        return Sources(sources.texts)
    vectors = sources.vectors
    if vectors is None and named is not None and sources.texts is not None:
        vectors = encoded(named, sources.texts)
    if vectors is None:
        was = f" (it was fitted with {known:.200})" if isinstance(known, str) else ""
        raise ParameterError(
            "this model reads embeddings: give those of the documents (embeddings=, --embeddings FILE.npy), or name "
            f"the encoder again (model.encoder = ..., --encoder package.module:name){was}"
        )
    if vectors.shape[1] != dim:
        raise DataError(f"the embeddings have {vectors.shape[1]} numbers a document, the model was fitted with {dim}")
    return Sources(sources.texts, vectors)


def training_vectors(
    named: Any, method: Method, data: Dataset, label_embeddings: Any, run: Run
) -> npt.NDArray[Any] | None:
    """Of the documents to learn from: those that were given, or what the encoder makes; None if there is neither. Those
    of label names go into the run."""
    if named is None and data.embeddings is None and label_embeddings is None:
        return None
    if not method.reads_sources:
        raise ParameterError(f"method {method.name!r} reads no embeddings: leave them out, or use method auto")
    if named is None and data.embeddings is None:
        raise ParameterError("label embeddings are compared with embeddings of documents: give those, too")
    vectors = data.embeddings
    if vectors is None and data.texts is None:
        raise ParameterError("an encoder needs texts, and the training data are features: give embeddings instead")
    if vectors is None:
        vectors = encoded(named, data.texts or (), run.progress)
    size = data.n_labels, vectors.shape[1]
    run.label_vectors = label_vectors(named, label_embeddings, run.label_texts, *size, run.progress)
    return vectors


def label_vectors(
    named: Any, given: Any, names: Sequence[tuple[int, str, bool]], n_labels: int, dim: int, progress: Progress
) -> Vectors | None:
    """(n_labels, dim) embeddings of label names: those given, or the mean of what the encoder makes of a label's
    preferred names; None if there is neither. names: see `Run.label_texts`."""
    if given is not None:
        found = np.asarray(checked_embeddings(given), dtype=np.float32)
        if found.shape != (n_labels, dim):
            raise DataError(
                f"label embeddings must have {n_labels} rows, one a label in the order of the vocabulary, of {dim} "
                f"numbers as the documents have; got {found.shape}"
            )
        return found
    preferred = [(label, name) for label, name, is_preferred in names if is_preferred]
    if named is None or not preferred:
        return None
    labels, texts = zip(*preferred, strict=True)
    rows = np.array(labels), np.arange(len(labels))
    together = sp.csr_matrix((np.ones(len(labels), dtype=np.float32), rows), shape=(n_labels, len(labels)))
    return np.asarray(together @ encoded(named, texts, progress), dtype=np.float32)
