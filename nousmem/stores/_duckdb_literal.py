"""The documented text search of DuckDB: the whole query as a part of the text, in any case.

Source: specification, "DuckDB", "Text Search".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import duckdb

__all__ = ["search"]

_NO_LIMIT: Final = 2**62

# DuckDB's lower() is one character to one, which İ (to i and a combining dot) is not. Its graphemes
# are Unicode's but for CR LF, which is one.
_FOLD: Final = "lower(replace({}, 'İ', 'i̇'))"
_GRAPHEMES: Final = "length_grapheme(replace({}, chr(13) || chr(10), chr(10)))"


def search(
    connection: duckdb.DuckDBPyConnection,
    text: str,
    *,
    condition: str,
    values: Sequence[Any],
    limit: int | None,
) -> list[tuple[str, float]]:
    """Return (entry id, score) of the entries that hold `text`, best first.

    The score is min(1, count / max(1, length of the entry / length of `text` / 10)), lengths in
    graphemes.

    Args:
        connection: Inside a transaction.
        text: Taken as it stands: neither wildcards nor spaces mean anything.
        condition: SQL over the entries table `e`; its parameters are `values`.
        limit: At most this many; None is all. Ties go to the greater id.
    """
    return connection.execute(
        f"WITH folded AS (SELECT e.id, e.content, {_FOLD.format('e.content')} AS text, "
        f"query.text AS query FROM entries AS e, (SELECT {_FOLD.format('?')} AS text) AS query "
        f"WHERE contains({_FOLD.format('e.content')}, query.text) AND {condition}) "
        "SELECT id, least(1.0, (length(text) - length(replace(text, query, ''))) "
        "/ length(query) / greatest(1.0, "
        f"{_GRAPHEMES.format('content')} / {_GRAPHEMES.format('?')} / 10)) AS score "
        "FROM folded ORDER BY score DESC, id DESC LIMIT ?",
        [text, *values, text, _NO_LIMIT if limit is None else limit],
    ).fetchall()
