"""Dual attention: one document by hand, documents apart from each other, empty documents."""

import torch

from zipfel.nn.attention import DualAttention


def attention(dim=4, **options):
    torch.manual_seed(0)
    return DualAttention(dim, 2, **options)


def test_without_channel_attention_it_is_the_weighted_sum():
    words, weights = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([0.5, 2.0])
    rows = torch.tensor([0, 0])
    pooled = DualAttention(2, channel=False)(words, weights, rows, 1)
    torch.testing.assert_close(pooled, torch.tensor([[6.5, 9.0]]))
    averaged = DualAttention(2, channel=False, mean=True)(words, weights, rows, 1)
    torch.testing.assert_close(averaged, torch.tensor([[3.25, 4.5]]))


def test_equation_5_by_hand():
    layer = DualAttention(2, 2)
    with torch.no_grad():
        layer.squeeze.weight.copy_(torch.tensor([[1.0, -1.0]]))
        layer.squeeze.bias.zero_()
        layer.excite.weight.copy_(torch.tensor([[1.0], [0.0]]))
        layer.excite.bias.zero_()
    # V' = 2 (1, 0.5) = (2, 1); relu(F1 V') = 1; A = (sigmoid 1, sigmoid 0)
    pooled = layer(torch.tensor([[1.0, 0.5]]), torch.tensor([2.0]), torch.tensor([0]), 1)
    torch.testing.assert_close(pooled, torch.tensor([[2 * 0.731058578, 0.5]]))


def test_a_document_does_not_depend_on_its_batch():
    layer, words, weights = attention(), torch.randn(5, 4), torch.rand(5)
    rows = torch.tensor([0, 0, 2, 2, 2])
    together = layer(words, weights, rows, 3)
    alone = layer(words[2:], weights[2:], torch.zeros(3, dtype=torch.long), 1)
    torch.testing.assert_close(together[2:], alone)
    assert not together[1].any()  # no words, no code


def test_gradients_reach_words_and_both_layers():
    layer = attention().double()
    words = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    weights, rows = torch.rand(3, dtype=torch.float64), torch.tensor([0, 1, 1])
    assert torch.autograd.gradcheck(lambda w: layer(w, weights, rows, 2), (words,))
    layer(words, weights, rows, 2).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in layer.parameters())
