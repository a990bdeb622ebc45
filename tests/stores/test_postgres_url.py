"""URLs of PostgreSQL stores: our options are taken out, the rest is the driver's."""

from __future__ import annotations

from pathlib import Path

import pytest

from nousmem import InvalidParameter
from nousmem.stores._postgres_url import parse_postgres_url


def test_defaults() -> None:
    url = parse_postgres_url("postgresql://db.example/memories")
    assert (url.schema, url.text, url.hnsw, url.folder) == ("nousmem", "bm25", False, None)
    assert url.address == "postgresql://db.example/memories"


def test_our_options_are_taken_out_and_the_rest_is_unchanged() -> None:
    url = parse_postgres_url(
        "postgresql://u@h:5432/db?sslmode=require&schema=a%20b&options=-c%20x%3Dy&hnsw=true"
        "&text=tsvector&target_session_attrs=any"
    )
    assert (url.schema, url.text, url.hnsw) == ("a b", "tsvector", True)
    assert url.address == (
        "postgresql://u@h:5432/db?sslmode=require&options=-c%20x%3Dy&target_session_attrs=any"
    )
    assert parse_postgres_url("postgres:///db?hnsw=1").address == "postgres:///db"


def test_arguments_come_before_the_url() -> None:
    url = parse_postgres_url(
        "postgresql:///db?schema=a&text=tsvector&hnsw=true", schema="b", text="bm25", hnsw=False
    )
    assert (url.schema, url.text, url.hnsw) == ("b", "bm25", False)


def test_a_server_of_ones_own() -> None:
    url = parse_postgres_url("postgresql+embedded:some/folder?hnsw=true")
    assert (url.folder, url.address, url.hnsw) == (Path("some/folder"), "", True)
    assert "some/folder" in url.masked


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:s3cret@h/db",
        "postgresql://ann:s3cret%40@h:5432/db?sslmode=require",
        "postgresql://ann:s3cret@[::1]/db",
        "postgresql://ann:s3cret@h1:1,h2:2/db",
        "postgresql://ann@h/db?password=s3cret&sslpassword=s3cret",
    ],
)
def test_a_password_is_never_shown(url: str) -> None:
    parsed = parse_postgres_url(url)
    assert "s3cret" in parsed.address
    assert "s3cret" not in parsed.masked
    assert "s3cret" not in repr(parsed)
    assert "ann" in parsed.masked


@pytest.mark.parametrize(
    "url",
    ["postgresql://a:s3@cret@h/db", "postgresql://a:s3/cret@h/db", "postgresql://a:s3?cret@h/d"],
)
def test_a_password_with_bare_marks_is_refused(url: str) -> None:
    with pytest.raises(InvalidParameter, match="encoded") as caught:
        parse_postgres_url(url)
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://h1:1,h2:2/db?user=a@b",
        "postgresql://h:5432/db?user=a@b",
        "postgresql://localhost:5432/db@x",
        "postgresql://u@h/db",
        "postgresql://",
        "postgresql://[::1]:5432/db",
    ],
)
def test_addresses_without_a_password(url: str) -> None:
    assert parse_postgres_url(url).address == url
    assert parse_postgres_url(url).masked == url


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://h/db", "of the kind 'mysql'"),
        ("postgresql", "of the kind"),
        ("postgresql:///db?hnsw=maybe", "hnsw must be one of"),
        ("postgresql:///db?text=ilike", "text must be one of bm25, tsvector"),
        ("postgresql:///db?schema=", "schema must be a name"),
        (f"postgresql:///db?schema={'x' * 64}", "63 bytes"),
        ("postgresql:///db?schema=a%00", "schema must be a name"),
        ("postgresql:///db?schema=a&schema=b", "twice"),
        ("postgresql+embedded:", "needs the folder"),
        ("postgresql+embedded:x?colour=red", "unknown store option 'colour'"),
        (None, "expected a URL"),
    ],
)
def test_what_is_refused(url: str, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        parse_postgres_url(url)
