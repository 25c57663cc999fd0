"""The endpoints that are known by name. Each is a line of data; `register_endpoint` adds one of your own."""

from __future__ import annotations

from decidable.providers.endpoint import Endpoint

__all__ = ["ENDPOINTS"]

_OLD_LIMIT = {"max_completion_tokens": "max_tokens"}
"""What OpenAI renamed and most others did not."""

_LOCAL_OMIT = frozenset({"parallel_tool_calls"})

_KNOWN = (
    Endpoint(  # https://platform.openai.com/docs/api-reference/chat/create
        name="openai",
        base_url="https://api.openai.com/v1",
        key="OPENAI_API_KEY",
        url_variable="OPENAI_BASE_URL",
        strict_tools=True,
        top_logprobs=20,
    ),
    Endpoint(  # https://platform.openai.com/docs/api-reference/responses/create
        name="openai-responses",
        wire="openai-responses",
        base_url="https://api.openai.com/v1",
        key="OPENAI_API_KEY",
        url_variable="OPENAI_BASE_URL",
        strict_tools=True,
        top_logprobs=20,
    ),
    Endpoint(  # https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle: the v1 API needs no version
        name="azure",
        key="AZURE_OPENAI_API_KEY",
        key_header="api-key",
        url_variable="AZURE_OPENAI_ENDPOINT",
        url_suffix="/openai/v1",
        strict_tools=True,
        top_logprobs=20,
    ),
    Endpoint(  # https://platform.claude.com/docs/en/api/messages
        name="anthropic",
        wire="anthropic",
        base_url="https://api.anthropic.com/v1",
        key="ANTHROPIC_API_KEY",
        key_header="x-api-key",
        strict_tools=True,
        forced_tools=False,  # the current models refuse a forced tool choice, since they always may think
    ),
    Endpoint(  # https://ai.google.dev/api/generate-content
        name="gemini",
        wire="gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta",
        key="GEMINI_API_KEY",
        key_header="x-goog-api-key",
        top_logprobs=20,
    ),
    Endpoint(  # https://openrouter.ai/docs/api-reference/chat-completion
        name="openrouter",
        base_url="https://openrouter.ai/api/v1",
        key="OPENROUTER_API_KEY",
        rename=_OLD_LIMIT,
        echo=("reasoning_details",),
        forced_tools=False,  # dropped without a word, or refused, by those of its models that reason
        top_logprobs=20,
    ),
    Endpoint(  # https://console.groq.com/docs/api-reference: takes neither logprobs nor top_logprobs
        name="groq",
        base_url="https://api.groq.com/openai/v1",
        key="GROQ_API_KEY",
    ),
    Endpoint(  # https://docs.mistral.ai/api/endpoint/chat
        name="mistral",
        base_url="https://api.mistral.ai/v1",
        key="MISTRAL_API_KEY",
        rename={**_OLD_LIMIT, "seed": "random_seed"},
        omit=frozenset({"stream_options"}),
        required="any",
    ),
    Endpoint(  # https://api-docs.deepseek.com: JSON mode takes no schema
        name="deepseek",
        base_url="https://api.deepseek.com/v1",
        key="DEEPSEEK_API_KEY",
        rename=_OLD_LIMIT,
        omit=frozenset({"parallel_tool_calls", "seed"}),
        echo=("reasoning_content",),
        output_schema=False,
        images=False,
        top_logprobs=20,
    ),
    Endpoint(  # https://docs.x.ai/docs/api-reference
        name="xai",
        base_url="https://api.x.ai/v1",
        key="XAI_API_KEY",
        top_logprobs=8,
    ),
    Endpoint(  # https://docs.together.ai/reference/chat-completions-1
        name="together",
        base_url="https://api.together.xyz/v1",
        key="TOGETHER_API_KEY",
        rename=_OLD_LIMIT,
        omit=_LOCAL_OMIT,
    ),
    Endpoint(  # https://docs.fireworks.ai/api-reference/post-chatcompletions
        name="fireworks",
        base_url="https://api.fireworks.ai/inference/v1",
        key="FIREWORKS_API_KEY",
        rename=_OLD_LIMIT,
        top_logprobs=5,
    ),
    Endpoint(  # https://inference-docs.cerebras.ai/api-reference/chat-completions
        name="cerebras",
        base_url="https://api.cerebras.ai/v1",
        key="CEREBRAS_API_KEY",
        strict_tools=True,
        images=False,
        top_logprobs=20,
    ),
    Endpoint(  # https://docs.ollama.com/api/openai-compatibility: tool_choice is not supported
        name="ollama",
        base_url="http://localhost:11434/v1",
        strict=False,
        key="OLLAMA_API_KEY",
        key_optional=True,
        url_variable="OLLAMA_BASE_URL",
        rename=_OLD_LIMIT,
        omit=frozenset({"parallel_tool_calls", "tool_choice"}),
        forced_tools=False,
        top_logprobs=20,
    ),
    Endpoint(  # https://docs.vllm.ai/en/latest/serving/openai_compatible_server
        name="vllm",
        base_url="http://localhost:8000/v1",
        strict=False,
        key="VLLM_API_KEY",
        key_optional=True,
        url_variable="VLLM_BASE_URL",
        top_logprobs=20,
    ),
    Endpoint(  # https://github.com/ggml-org/llama.cpp/tree/master/tools/server
        name="llamacpp",
        base_url="http://localhost:8080/v1",
        strict=False,
        key="LLAMACPP_API_KEY",
        key_optional=True,
        url_variable="LLAMACPP_BASE_URL",
        rename=_OLD_LIMIT,
        top_logprobs=20,
    ),
    Endpoint(  # https://lmstudio.ai/docs/developer/openai-compat
        name="lmstudio",
        base_url="http://localhost:1234/v1",
        strict=False,
        key="LMSTUDIO_API_KEY",
        key_optional=True,
        url_variable="LMSTUDIO_BASE_URL",
        rename=_OLD_LIMIT,
        omit=_LOCAL_OMIT,
    ),
)

ENDPOINTS = {endpoint.name: endpoint for endpoint in _KNOWN}
"""Name to endpoint."""
