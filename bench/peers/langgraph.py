"""langgraph: a node that asks, and a conditional edge to one of N nodes."""

import json
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from pydantic import ValidationError

from schema import choice_model
from task import Queues, Script, prompt_text

TITLE = "langgraph: StateGraph, conditional edge to one of N nodes"
CONTAINS = "state channels, routing; the model is a plain function, pydantic validates; a re-ask is an edge back"
PACKAGES = ["langgraph"]
RE_ASKS = True


class State(TypedDict, total=False):
    prompt: str
    choice: str


class Adapter:
    def __init__(self, script: Script) -> None:
        self.script = script

    def prepare(self, options: Queues) -> Any:
        model = choice_model(options)

        def ask(state: State) -> State:
            try:
                return {"choice": model.model_validate(json.loads(self.script.next())).choice}
            except ValidationError as error:
                return {"choice": "", "prompt": f"{state['prompt']}\n{error.errors()[0]['msg']}"}

        graph = StateGraph(State)
        graph.add_node("ask", ask)
        graph.add_edge(START, "ask")
        for name, _ in options:
            graph.add_node(name, lambda _state: {})
            graph.add_edge(name, END)
        targets = {"": "ask", **{name: name for name, _ in options}}
        graph.add_conditional_edges("ask", lambda state: state["choice"], targets)
        return graph.compile()

    def decide(self, graph: Any, options: Queues) -> str:
        return graph.invoke({"prompt": prompt_text(options)})["choice"]

    async def async_decide(self, graph: Any, options: Queues) -> str:
        return (await graph.ainvoke({"prompt": prompt_text(options)}))["choice"]
