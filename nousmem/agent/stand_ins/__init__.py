"""Models that are none: they stand in for a language model where there is no key and no network.

Each is named as a stand-in wherever it appears. They take part in the whole loop: memories are
put before them, they call tools, and they are asked to reflect.
"""

from nousmem.errors import requiring

with requiring(
    "pydantic-ai-slim", extra="agent", purpose="running an agent", modules=["pydantic_ai"]
):
    from nousmem.agent.stand_ins._extractive import EXTRACTIVE, extractive_model
    from nousmem.agent.stand_ins._scripted import SCRIPTED, scripted_model
    from nousmem.agent.stand_ins.scripts import ScriptStep, ToolUse

__all__ = [
    "EXTRACTIVE",
    "SCRIPTED",
    "ScriptStep",
    "ToolUse",
    "extractive_model",
    "scripted_model",
]
