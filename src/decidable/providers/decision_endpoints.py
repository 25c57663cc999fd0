"""The decision endpoints that are known by name. Each is a line of data; `register_endpoint` adds one of your own."""

from __future__ import annotations

from decidable.providers.decision_endpoint import DecisionEndpoint
from decidable.questions.limits import Limits

__all__ = ["DECISION_ENDPOINTS", "PARALLEL_LIST_PRICE_USD", "PARALLEL_MODES"]

PARALLEL_LIST_PRICE_USD = 0.001
"""US dollars a request, which Parallel does not report. https://docs.parallel.ai"""

PARALLEL_MODES = ("fast",)
"""The modes that may be named as ``parallel-<mode>``."""

_PLENTY = Limits(choice_options=(1, 255), score_levels=(1, 10))
"""Of the System One wire itself; a server may take less, and says so. https://docs.typesafe.ai"""

_KNOWN = (
    DecisionEndpoint(  # https://docs.typesafe.ai
        name="typesafe",
        base_url="https://api.typesafe.ai",
        key="TYPESAFE_API_KEY",
        url_variable="TYPESAFE_BASE_URL",
        default_model="jev-latest",
        model_variable="TYPESAFE_DEFAULT_MODEL",
        request_id="x-typesafe-request-id",
        limits=_PLENTY,
        strict=True,
        images="assets",
        max_image_side=1568,
    ),
    DecisionEndpoint(  # https://docs.parallel.ai
        name="parallel",
        base_url="https://api.parallel.ai",
        path="/v1/decisions",
        key="PARALLEL_API_KEY",
        key_header="x-api-key",
        default_model=f"parallel-{PARALLEL_MODES[0]}",
        models=tuple(f"parallel-{mode}" for mode in PARALLEL_MODES),
        model_field="mode",
        model_prefix="parallel-",
        extra={"include_excerpts": True},
        both_sides=True,
        named_options=True,
        request_id="decision_id",
        list_price=PARALLEL_LIST_PRICE_USD,
        replay="never",
        limits=Limits(
            max_questions=100,
            choice_options=(2, 255),
            score_levels=(2, 10),
            max_question_chars=5000,
            max_state_bytes=96_000,
        ),
    ),
    DecisionEndpoint(  # https://openrouter.ai/docs
        name="openrouter-decisions",
        base_url="https://openrouter.ai",
        path="/api/v1/systemone",
        key="OPENROUTER_API_KEY",
        cost=("usage", "cost"),
        replay="never",
        images="listed",
        catalogue="/api/v1/models?output_modalities=decisions",
        max_image_side=1568,
    ),
    DecisionEndpoint(  # https://platform.openai.com/docs/api-reference/decisions
        name="openai-decisions",
        wire="openai-decisions",
        base_url="https://api.openai.com/v1",
        path="/decisions",
        key="OPENAI_API_KEY",
        url_variable="OPENAI_BASE_URL",
        default_model="gpt-6-luna",
        request_id="x-request-id",
        replay="never",
        limits=Limits(max_questions=400, choice_options=(2, 255), score_levels=(2, 10)),
        images="parts",
    ),
    DecisionEndpoint(  # https://docs.perplexity.ai/docs/decisions/quickstart
        name="perplexity-decisions",
        base_url="https://api.perplexity.ai",
        path="/v1/decisions",
        key="PERPLEXITY_API_KEY",
        replay="never",
        limits=Limits(max_questions=128, choice_options=(1, 255), score_levels=(1, 10)),
    ),
    DecisionEndpoint(  # https://developers.cloudflare.com/workers-ai/models
        name="cloudflare-decisions",
        base_url="https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/run",
        path="/@cf/cloudflare/{model}",
        key="CLOUDFLARE_API_TOKEN",
        default_model="clef",
        envelope="result",
        request_id="cf-ray",
        replay="never",
        limits=Limits(max_questions=64, choice_options=(2, 255), score_levels=(2, 10), instructions_required=True),
    ),
    DecisionEndpoint(  # https://docs.fireworks.ai/api-reference/post-decisions; a model is an account's own
        name="fireworks-decisions",
        base_url="https://api.fireworks.ai/inference",
        key="FIREWORKS_API_KEY",
        replay="never",
        limits=Limits(choice_options=(1, 208), score_levels=(1, 10)),
    ),
    DecisionEndpoint(  # https://console.upstage.ai/api/systemone.md
        name="upstage-decisions",
        base_url="https://api.upstage.ai",
        key="UPSTAGE_API_KEY",
        default_model="solar-decide",
        replay="never",
    ),
    DecisionEndpoint(  # https://docs.liquid.ai/lfm/models/decision-models
        name="liquid-decisions",
        key="LIQUIDAI_API_KEY",
        url_variable="LIQUIDAI_BASE_URL",
        default_model="d1",
        replay="never",
    ),
    DecisionEndpoint(  # https://docs.digitalocean.com/reference/dots/reference/serverless-inference
        name="digitalocean-decisions",
        base_url="https://inference.do-ai.run",
        key="GRADIENT_MODEL_ACCESS_KEY",
        replay="never",
    ),
    DecisionEndpoint(  # https://ollama.com/library/d1: since 0.35; some models take 26 options
        name="ollama-decisions",
        base_url="http://localhost:11434",
        key="OLLAMA_API_KEY",
        key_optional=True,
        url_variable="OLLAMA_DECISIONS_URL",
    ),
    DecisionEndpoint(  # https://github.com/ggml-org/llama.cpp/tree/master/tools/server: serves one model, by any name
        name="llamacpp-decisions",
        base_url="http://localhost:8080",
        key="LLAMACPP_API_KEY",
        key_optional=True,
        url_variable="LLAMACPP_DECISIONS_URL",
        default_model="default",
        limits=Limits(choice_options=(1, 255), score_levels=(2, 10), instructions_required=True),
    ),
    DecisionEndpoint(  # https://docs.vllm.ai
        name="vllm-decisions",
        base_url="http://localhost:8000",
        key="VLLM_API_KEY",
        key_optional=True,
        url_variable="VLLM_DECISIONS_URL",
    ),
    DecisionEndpoint(  # https://docs.sglang.io
        name="sglang-decisions",
        base_url="http://localhost:30000",
        key="SGLANG_API_KEY",
        key_optional=True,
        url_variable="SGLANG_DECISIONS_URL",
    ),
    DecisionEndpoint(  # any other server that speaks the wire, on this machine or not
        name="systemone",
        key="SYSTEMONE_API_KEY",
        key_optional=True,
        url_variable="SYSTEMONE_BASE_URL",
        default_model="jev-latest",
        request_id="x-typesafe-request-id",
    ),
)

DECISION_ENDPOINTS = {endpoint.name: endpoint for endpoint in _KNOWN}
"""Name to endpoint."""
DECISION_ENDPOINTS["jev"] = DECISION_ENDPOINTS["typesafe"]
