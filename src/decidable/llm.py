"""`llm`: one request, its text back."""

from __future__ import annotations

from decidable.content import ContentInput
from decidable.default_runtime import chosen_runtime
from decidable.runtimes import Runtime

__all__ = ["async_llm", "llm"]


def llm(prompt: ContentInput, *, runtime: Runtime | None = None, model: str | None = None) -> str:
    """One request without tools or menu; the reply's text.

    Args:
        prompt: A str, or content blocks.
        runtime: Who answers; default the ambient runtime.
        model: Model for this call.

    Raises:
        LLMError: The provider failed.
        RuntimeMissingError: There is no runtime to ask.
    """
    return chosen_runtime(runtime).exec(prompt, model=model)


async def async_llm(prompt: ContentInput, *, runtime: Runtime | None = None, model: str | None = None) -> str:
    """`llm` from an event loop."""
    return await chosen_runtime(runtime).async_exec(prompt, model=model)
