"""pydantic-ai: an agent whose output is a model class with the names as a Literal."""

from collections.abc import Callable
from typing import Any

from pydantic_ai import Agent, PromptedOutput
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from schema import choice_model
from task import ROUNDS, Queues, Script, lookup, prompt_text

TITLE = "pydantic-ai: Agent, FunctionModel, PromptedOutput"
CONTAINS = "the agent's graph, message objects, output schema in the instructions, validation, retry with feedback"
PACKAGES = ["pydantic-ai-slim"]
RE_ASKS = True


def loop() -> Callable[[], str]:
    """An agent with one tool; the model counts the answers that it has."""

    def reply(messages: Any, _info: Any) -> ModelResponse:
        turn = len(messages) // 2
        if turn == ROUNDS:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("lookup", {"order": f"A-{turn}"})])

    agent = Agent(FunctionModel(reply), tools=[lookup])
    return lambda: agent.run_sync("?").output


class Adapter:
    def __init__(self, script: Script) -> None:
        self.script = script

    def _reply(self, _messages: Any, _info: Any) -> ModelResponse:
        return ModelResponse(parts=[TextPart(self.script.next())])

    def prepare(self, options: Queues) -> Any:
        return Agent(FunctionModel(self._reply), output_type=PromptedOutput(choice_model(options)), retries=1)

    def decide(self, agent: Any, options: Queues) -> str:
        return agent.run_sync(prompt_text(options)).output.choice

    async def async_decide(self, agent: Any, options: Queues) -> str:
        return (await agent.run(prompt_text(options))).output.choice
