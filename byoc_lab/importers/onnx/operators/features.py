"""Operators of `ai.onnx.ml`, and word counts."""

from __future__ import annotations

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import converts
from byoc_lab.importers.onnx.node import Array, Node
from byoc_lab.relay.ir.expr import Constant, Expr

LEARNING = "ai.onnx.ml"


@converts("ArrayFeatureExtractor", domain=LEARNING)
def array_feature_extractor(node: Node) -> Expr:
    x = node[0]
    rows = relay.reshape(x, (1, -1)) if node.rank(x) == 1 else x
    return relay.take(rows, relay.reshape(node[1], (-1,)), axis=-1, mode="fast")


@converts("Binarizer", domain=LEARNING)
def binarizer(node: Node) -> Expr:
    dtype = node.dtype(node[0])
    threshold = relay.const(node.attr("threshold", 0.0), dtype)
    return relay.cast(relay.greater(node[0], threshold), dtype)


@converts("TfIdfVectorizer")
def tf_idf_vectorizer(node: Node) -> Expr:
    """Count the occurrences of each n-gram in the data, with skips between its words; then apply
    weights."""
    if node.has("pool_strings"):
        node.fail("words that are strings are not supported; integers are")
    columns = np.array(node.attr("ngram_indexes"), np.int64)
    order = np.argsort(columns)
    if columns[order].tolist() != list(range(len(columns))):
        node.fail(f"ngram_indexes must be each of 0 to {len(columns) - 1} once")
    found = [_occurrences(node, words) for words in _pool(node) if len(words)]
    counts = relay.take(relay.concatenate(found, axis=-1), Constant(order), axis=-1, mode="clip")
    mode = node.attr("mode")
    if mode != "TF":
        weights = np.array(node.attr("weights", [1.0] * len(columns)), np.float32)[order]
        if mode == "IDF":
            counts = relay.minimum(counts, relay.const(1.0))
        counts = counts * Constant(weights)
    return counts


def _pool(node: Node) -> list[Array]:
    """The n-grams of each length, one array (number, length) per length, counted or not."""
    words = np.array(node.attr("pool_int64s"), np.int64)
    starts = [int(n) for n in node.attr("ngram_counts")]
    ends = [*starts[1:], len(words)]
    return [
        words[start:end].reshape(-1, length)
        for length, (start, end) in enumerate(zip(starts, ends, strict=True), 1)
    ]


def _occurrences(node: Node, words: Array) -> Expr:
    """The number of occurrences of each n-gram: (..., n-grams), float32."""
    x = node[0]
    have, shape = node.length(x, -1), node.shape(x)[:-1]
    length = words.shape[1]
    counted = int(node.attr("min_gram_length")) <= length <= int(node.attr("max_gram_length"))
    skips = range(int(node.attr("max_skip_count")) + 1 if length > 1 else 1)
    places = [
        np.arange(have - (length - 1) * (skip + 1))[:, None] + np.arange(length) * (skip + 1)
        for skip in skips
        if have > (length - 1) * (skip + 1)
    ]
    if not counted or not places:
        return Constant(np.zeros((*shape, len(words)), np.float32))
    pieces = relay.take(x, Constant(np.concatenate(places)), axis=-1, mode="clip")
    same = relay.equal(relay.expand_dims(pieces, axis=-2), Constant(words.astype(node.dtype(x))))
    return relay.sum(relay.cast(relay.all(same, axis=[-1]), "float32"), axis=[-2])
