"""One question to each real provider, asked only when it is wanted: it costs money."""

from __future__ import annotations

import os

import pytest

from decidable import Runtime, decision
from decidable.providers.endpoints import ENDPOINTS
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


@pytest.mark.parametrize("name", MODELS)
def test_a_real_decision(name):
    endpoint = ENDPOINTS[name]
    needed = (SWITCH, endpoint.url_variable if endpoint.key_optional else endpoint.key)
    missing = [variable for variable in needed if variable and not os.environ.get(variable)]
    if missing:
        pytest.skip(f"asks {name}, for money or on a server of yours: set {' and '.join(missing)}")
    model = os.environ.get(f"{SWITCH}_{name.upper().replace('-', '_')}", MODELS[name])
    options = {"billing": ("b", "Charges and refunds"), "technical": ("t", "Errors and crashes")}
    with allow_requests(), Runtime(f"{name}:{model}", timeout_s=120) as rt:
        made = decision.decide("Where does this go? The app crashes when I press Export.", options, runtime=rt)
    assert made.result == "t"
    assert made.usage is not None
