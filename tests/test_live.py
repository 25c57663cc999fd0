"""One question to each real provider, asked only when it is wanted: it costs money."""

from __future__ import annotations

import os

import pytest

from decidable import Runtime, connect, decision, judge_from_provider
from decidable.providers.decision_endpoints import DECISION_ENDPOINTS
from decidable.providers.endpoints import ENDPOINTS
from decidable.questions import Choice, Noul, Score
from decidable.testing import allow_requests

MODELS = {
    "openai": "gpt-5-mini",
    "openai-responses": "gpt-5-mini",
    "azure": "gpt-5-mini",
    "anthropic": "claude-haiku-4-5",
    "gemini": "gemini-2.5-flash",
    "openrouter": "openai/gpt-5-mini",
    "groq": "openai/gpt-oss-20b",
    "mistral": "mistral-small-latest",
    "deepseek": "deepseek-chat",
    "xai": "grok-4-fast",
    "together": "openai/gpt-oss-20b",
    "fireworks": "accounts/fireworks/models/gpt-oss-20b",
    "cerebras": "gpt-oss-120b",
    "ollama": "llama3.2",
    "vllm": "default",
    "llamacpp": "default",
    "lmstudio": "default",
}
SWITCH = "DECIDABLE_LIVE"


def test_every_endpoint_has_a_live_test():
    assert set(MODELS) == set(ENDPOINTS)


@pytest.fixture(params=MODELS)
def live(request):
    """A runtime for one real provider, or a skip that says what to set."""
    name = request.param
    endpoint = ENDPOINTS[name]
    needed = (SWITCH, endpoint.url_variable if endpoint.key_optional else endpoint.key)
    missing = [variable for variable in needed if variable and not os.environ.get(variable)]
    if missing:
        pytest.skip(f"asks {name}, for money or on a server of yours: set {' and '.join(missing)}")
    model = os.environ.get(f"{SWITCH}_{name.upper().replace('-', '_')}", MODELS[name])
    with allow_requests(), Runtime(f"{name}:{model}", timeout_s=120) as rt:
        yield rt


def test_a_real_decision(live):
    options = {"billing": ("b", "Charges and refunds"), "technical": ("t", "Errors and crashes")}
    made = decision.decide("Where does this go? The app crashes when I press Export.", options, runtime=live)
    assert made.result == "t"
    assert made.usage is not None


def test_a_real_decision_after_work_with_tools(live):
    looked_up = []

    def order_status(order: str) -> str:
        """The status of an order."""
        looked_up.append(order)
        return "lost on the way"

    options = {"wait": ("w", "The parcel is on its way."), "send_again": ("s", "The parcel is lost.")}
    question = "Look up order A-17, then decide what happens to it."
    assert live.exec(question, tools=[order_status], choices=options) == "s"
    assert looked_up == ["A-17"]


DECIDERS = {
    "typesafe": "jev-latest",
    "parallel": "parallel-fast",
    "openrouter-decisions": "liquid/d1",
    "openai-decisions": "gpt-6-luna",
    "perplexity-decisions": "pplx-decider-v1.2",
    "cloudflare-decisions": "clef",
    "fireworks-decisions": "default",
    "upstage-decisions": "solar-decide",
    "liquid-decisions": "d1",
    "digitalocean-decisions": "default",
    "ollama-decisions": "d1",
    "llamacpp-decisions": "default",
    "vllm-decisions": "default",
    "sglang-decisions": "default",
    "systemone": "jev-latest",
}


def test_every_decision_endpoint_has_a_live_test():
    assert set(DECIDERS) == {endpoint.name for endpoint in DECISION_ENDPOINTS.values()}


@pytest.mark.parametrize("name", DECIDERS)
def test_a_real_judgement(name):
    endpoint = DECISION_ENDPOINTS[name]
    needed = (SWITCH, endpoint.url_variable if endpoint.key_optional else endpoint.key)
    missing = [variable for variable in needed if variable and not os.environ.get(variable)]
    if missing:
        pytest.skip(f"asks {name}, for money or on a server of yours: set {' and '.join(missing)}")
    model = os.environ.get(f"{SWITCH}_{name.upper().replace('-', '_')}", DECIDERS[name])
    with allow_requests():
        provider = connect(f"{name}:{model}", timeout_s=60)
        found = judge_from_provider(provider).ask(
            {"ticket": "The app crashes when I press Export. I have written three times!"},
            {
                "crash": Noul("Does the app crash?", "The app stops or closes by itself.", "The app works."),
                "team": Choice("Which team?", {"billing": "Charges and refunds.", "technical": "Errors and crashes."}),
                "anger": Score("How angry is the customer?", ["calm", "impatient", "furious"]),
            },
        )
        provider.close()
    assert (found.values["crash"], found.values["team"]) == (True, "technical")
    assert found.request_sha256
