"""Whether a provider can be asked typed questions, found out before anything is sent."""

from __future__ import annotations

from decidable.errors import DecisionProviderError, ProviderErrorCode
from decidable.providers.protocol import Provider
from decidable.questions.limits import NO_LIMITS, problem_of
from decidable.questions.types import QuestionRequest

__all__ = ["check_request"]


def check_request(provider: Provider, request: QuestionRequest) -> None:
    """Refuse what `provider` does not take, by its own check, or else by what its capabilities say.

    Raises:
        DecisionProviderError: Of code ``invalid_request``; nothing was sent.
    """
    check = getattr(provider, "check", None)  # isinstance would look at every attribute of the protocol each time
    if check is not None:
        check(request)
        return
    capabilities = provider.capabilities
    limits = capabilities.limits or NO_LIMITS
    images = capabilities.images or "image" in capabilities.experimental_inputs
    problem = problem_of(request, capabilities.question_types, limits, capabilities.models, images)
    if problem is not None:
        raise DecisionProviderError(
            f"{provider.name}: {problem}",
            code=ProviderErrorCode.INVALID_REQUEST,
            detail="limits",
            provider=provider.name,
            sent=False,
        )
