#!/usr/bin/env python3
"""Makes the tokenizers in this folder, and what the Python packages make of some texts with them.

The texts are `texts.json`. The tokenizers are trained on them, so they are small and still have
tokens of many scripts. Run it with the packages tokenizers, sentencepiece, model2vec and numpy; the
versions are in `expected.json`.
"""

import importlib.metadata
import io
import json
import pathlib
import random

import numpy
import sentencepiece
from model2vec import StaticModel
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).parent
WIDTH = 8
PACKAGES = ["tokenizers", "sentencepiece", "model2vec", "numpy"]
# Pairs of a text and its replacement, as SentencePiece's rules have them.
RULES = [
    ("\t", " "), ("\n", " "), ("\r", " "), ("\r\n", " "), ("\u00a0", " "), ("\u3000", " "), ("\u200b", ""),
    ("\ufb01", "fi"), ("\ufb02", "fl"), ("\u00bd", "1\u20442"), ("\u2026", "..."), ("e\u0301", "\u00e9"),
    ("A\u030a", "\u00c5"), ("A", "a"), ("\u30ab\u3099", "\u30ac"), ("\uff21", "A"), ("\u0130", "i\u0307"),
]


def mixed(texts):
    """Returns texts, and texts of their words in a random order."""
    chance = random.Random(41)
    words = [word for text in texts for word in text.split()]
    gaps = [" "] * 6 + ["  ", "\n", "\r\n", "\t", "", "-", ", ", ". ", "\u3000", "\u200b"]
    for _ in range(100):
        count = chance.randint(1, 12)
        text = "".join(chance.choice(words) + chance.choice(gaps) for _ in range(count))
        texts = texts + [text]
    return texts


def words_for_training(texts):
    return [word for text in texts for word in text.split() * 3]


def bpe(texts):
    """As Llama: a mark for spaces, and bytes for what is not in the vocabulary."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=900, special_tokens=special, limit_alphabet=200, show_progress=False)
    )
    made = json.loads(tokenizer.to_str())
    made["added_tokens"] = made["added_tokens"][:3]
    made["pre_tokenizer"] = None
    made["normalizer"] = {
        "type": "Sequence",
        "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        ],
    }
    return made


def charsmap():
    """Returns a map of characters, in the form that models of SentencePiece have."""
    rules = HERE / "rules.tsv"
    code = lambda text: " ".join(f"{ord(c):X}" for c in text)
    rules.write_text("".join(f"{code(text)}\t{code(by)}\n" for text, by in RULES))
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c d e f"] * 9), model_writer=model, vocab_size=12,
        normalization_rule_tsv=str(rules), minloglevel=2, hard_vocab_limit=False,
    )
    rules.unlink()
    proto = model.getvalue()
    # The field normalizer_spec (3) of the model, and in it precompiled_charsmap (2).
    spec = field(proto, 3)
    return field(spec, 2)


def field(message, number):
    """Returns the last field of a number in a message of protocol buffers."""
    found, at = b"", 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 2:
            length = varint()
            if key >> 3 == number:
                found = message[at:at + length]
            at += length
        elif key & 7 == 0:
            varint()
        else:
            at += 4 if key & 7 == 5 else 8
    return found


def unigram(texts):
    """As XLM-RoBERTa."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Precompiled(charsmap())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    tokenizer.train_from_iterator(
        texts,
        trainers.UnigramTrainer(
            vocab_size=700, special_tokens=["<s>", "<pad>", "<unk>"], unk_token="<unk>", show_progress=False
        ),
    )
    return json.loads(tokenizer.to_str())


def word_piece(texts):
    """As BERT, and as model2vec's tables in English."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=40))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        texts,
        trainers.WordPieceTrainer(
            vocab_size=700, special_tokens=["[PAD]", "[UNK]"], limit_alphabet=150, show_progress=False
        ),
    )
    return json.loads(tokenizer.to_str())


def value(row, column):
    """The table of the tests: every value is exact in 16 bits."""
    return ((row * 31 + column * 17 + row * column) % 61 - 30) / 8


def main():
    texts = json.loads((HERE / "texts.json").read_text())
    trained = words_for_training(texts)
    texts = mixed(texts)
    expected = {"texts": texts, "versions": {name: importlib.metadata.version(name) for name in PACKAGES}}
    for name, make in [("bpe", bpe), ("unigram", unigram), ("word_piece", word_piece)]:
        made = make(trained)
        (HERE / f"{name}.json").write_text(json.dumps(made, ensure_ascii=False, separators=(",", ":")) + "\n")
        tokenizer = Tokenizer.from_str(json.dumps(made))
        size = tokenizer.get_vocab_size()
        vectors = numpy.array([[value(row, column) for column in range(WIDTH)] for row in range(size)])
        model = StaticModel(vectors.astype(numpy.float32), tokenizer, normalize=True, max_length=None)
        expected[name] = {
            "size": size,
            "tokens": model.tokenize(texts),
            "vectors": [[round(float(x), 5) for x in vector] for vector in model.encode(texts[:40])],
        }
    (HERE / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, separators=(",", ":")) + "\n")


main()
