"""langgraph: a node that asks, and a conditional edge to one of N nodes."""

import json
from collections.abc import Callable
from typing import Any, TypedDict

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import ValidationError

from schema import choice_model
from task import ROUNDS, Queues, Script, lookup, prompt_text

TITLE = "langgraph: StateGraph, conditional edge to one of N nodes"
CONTAINS = "state channels, routing; the model is a plain function, pydantic validates; a re-ask is an edge back"
PACKAGES = ["langgraph"]
RE_ASKS = True


def loop() -> Callable[[], str]:
    """A model node, a tool node, and the edge between them."""

    def ask(state: MessagesState) -> dict[str, Any]:
        turn = len(state["messages"]) // 2
        if turn == ROUNDS:
            return {"messages": [AIMessage("done")]}
        call = {"name": "lookup", "args": {"order": f"A-{turn}"}, "id": f"call_{turn}"}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_node("tools", ToolNode([lookup]))
    graph.add_edge(START, "ask")
    graph.add_edge("tools", "ask")
    graph.add_conditional_edges("ask", tools_condition)
    ready = graph.compile().with_config(recursion_limit=4 * ROUNDS)
    return lambda: ready.invoke({"messages": [("user", "?")]})["messages"][-1].content


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
