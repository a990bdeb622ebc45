import pytest

from nousmem.agent.sessions._places import Faults, Place
from nousmem.errors import (
    InvalidParameter,
    MissingDependency,
    NousmemError,
    UnknownName,
    requiring,
    suggestion,
)
from nousmem.scoring import Scoring

KNOWN = ("duckdb", "memory", "sqlite")


def test_a_name_that_is_close_is_suggested():
    assert suggestion("sqlit", KNOWN) == "; did you mean 'sqlite'?"
    assert suggestion("bogus", KNOWN) == ""
    assert suggestion("sqlit", iter(KNOWN)) == "; did you mean 'sqlite'?"


def test_an_unknown_name_is_told_in_whole_sentences():
    assert str(UnknownName("store", "bogus", KNOWN)) == (
        "unknown store 'bogus'. Known: duckdb, memory, sqlite"
    )
    assert str(UnknownName("store", "sqlit", KNOWN)) == (
        "unknown store 'sqlit'; did you mean 'sqlite'? Known: duckdb, memory, sqlite"
    )


def test_a_misspelt_parameter_is_told_as_any_other_name():
    with pytest.raises(InvalidParameter, match=r"'decay_lamda'; did you mean 'decay_lambda'\? Par"):
        Scoring.from_dict({"decay_lamda": 1})
    with pytest.raises(InvalidParameter, match=r"'zzz'\. Parameters: decay_lambda, "):
        Scoring().replace(zzz=1)


def test_a_misspelt_key_of_a_session_is_told_as_any_other_name():
    faults = Faults("a.toml", "")
    Place({"txet": 1, "zzz": 1}, faults).known_keys(["text", "at"])
    with pytest.raises(NousmemError) as told:
        faults.raise_if_any()
    assert "unknown key 'txet'; did you mean 'text'? Known: text, at" in str(told.value)
    assert "unknown key 'zzz'. Known: text, at" in str(told.value)


@pytest.mark.parametrize("module", ["nowhere", "nowhere.inside"])
def test_an_extra_that_is_not_installed_says_how_to_get_it(module: str):
    with (
        pytest.raises(MissingDependency, match=r"a test needs .* 'no-where': .*nousmem\[some\]"),
        requiring("no-where", extra="some", purpose="a test", modules=["nowhere"]),
    ):
        __import__(module)


def test_a_package_is_imported_by_its_own_name_unless_said():
    with (
        pytest.raises(MissingDependency, match="no-where"),
        requiring("no-where", extra="some", purpose="a test"),
    ):
        __import__("no_where")


def test_another_module_that_is_missing_is_not_taken_for_the_extra():
    with (
        pytest.raises(ModuleNotFoundError, match="elsewhere") as told,
        requiring("no-where", extra="some", purpose="a test"),
    ):
        __import__("elsewhere")
    assert not isinstance(told.value, NousmemError)
