"""Memories from where they live today, and back: mem0, LangGraph, Letta, Graphiti, chats.

Ids, times, scopes and metadata are kept. A record's fields that an entry has no counterpart for go
to its metadata; an entry's fields that a format cannot hold go to the record's metadata, under the
key `nousmem`, and come back from there.
"""

from nousmem.importers._chat_log import read_chat_log, write_chat_log
from nousmem.importers._chatgpt import read_chatgpt
from nousmem.importers._graphiti import read_graphiti, write_graphiti
from nousmem.importers._langgraph import read_langgraph, write_langgraph
from nousmem.importers._letta import read_letta, write_letta
from nousmem.importers._mem0 import read_mem0, write_mem0
from nousmem.importers._registry import list_sources, list_targets, read_memories, write_memories

__all__ = [
    "list_sources",
    "list_targets",
    "read_chat_log",
    "read_chatgpt",
    "read_graphiti",
    "read_langgraph",
    "read_letta",
    "read_mem0",
    "read_memories",
    "write_chat_log",
    "write_graphiti",
    "write_langgraph",
    "write_letta",
    "write_mem0",
    "write_memories",
]
