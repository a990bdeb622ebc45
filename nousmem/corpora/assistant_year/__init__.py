"""The bundled corpus assistant-year: a made-up year in the memory of five users' assistants."""

from nousmem.corpora.assistant_year._files import bundled_folder, load_bundled, read, write
from nousmem.corpora.assistant_year._generator import generate

__all__ = ["bundled_folder", "generate", "load_bundled", "read", "write"]
