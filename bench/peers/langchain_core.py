"""langchain-core: prompt, chat model and output parser in a chain."""

from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import PydanticOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate

from schema import choice_model
from task import Queues, Script, prompt_text

TITLE = "langchain-core: prompt, chat model, PydanticOutputParser"
CONTAINS = "chain and callbacks, message objects, JSON from text, pydantic; its retry gives no feedback"
PACKAGES = ["langchain-core"]
RE_ASKS = True


class _Model(BaseChatModel):
    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, _messages: Any, _stop: Any = None, _run_manager: Any = None, **_settings: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=self.script.next()))])

    async def _agenerate(self, *_arguments: Any, **_settings: Any) -> ChatResult:
        return self._generate(None)


class Adapter:
    def __init__(self, script: Script) -> None:
        self.script = script
        self.model = _Model(script=script)
        self.prompt = ChatPromptTemplate.from_messages([("human", "{text}")])

    def prepare(self, options: Queues) -> Any:
        chain = self.prompt | self.model | PydanticOutputParser(pydantic_object=choice_model(options))
        if len(self.script.replies) > 1:
            return chain.with_retry(stop_after_attempt=2, wait_exponential_jitter=False)
        return chain

    def decide(self, chain: Any, options: Queues) -> str:
        return chain.invoke({"text": prompt_text(options)}).choice

    async def async_decide(self, chain: Any, options: Queues) -> str:
        return (await chain.ainvoke({"text": prompt_text(options)})).choice
