"""Who the corpus is about: five users, their agents, and the made-up world around each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nousmem.corpora.assistant_year._dice import Dice
from nousmem.corpora.assistant_year._timeline import WEEKDAYS, spoken_date

__all__ = ["USERS", "Person", "User", "World", "draw_worlds"]


@dataclass(frozen=True, slots=True)
class User:
    """One user and which of their agents hears about what."""

    user_id: str
    name: str
    agents: dict[str, tuple[str, ...]]
    """Agent to the domains it takes notes on."""
    namespaces: dict[str, str]
    """Agent to the namespace it writes to; an agent that is not named writes to none."""

    def agent_for(self, domain: str) -> str:
        """Return the agent that hears about `domain`."""
        return next(agent for agent, domains in self.agents.items() if domain in domains)

    def knows(self, domain: str) -> bool:
        """Return whether any agent hears about `domain`."""
        return any(domain in domains for domains in self.agents.values())


_PRIVATE: Final = ("home", "people", "money", "travel", "leisure")

USERS: Final = (
    User(
        "mira",
        "Mira",
        {"planner": _PRIVATE, "coder": ("code", "office"), "coach": ("health",)},
        {"coder": "work"},
    ),
    User(
        "tobin",
        "Tobin",
        {"planner": _PRIVATE, "keeper": ("shop", "office"), "coach": ("health",)},
        {},
    ),
    User(
        "salka",
        "Salka",
        {"planner": (*_PRIVATE, "health"), "keeper": ("shop", "office")},
        {"keeper": "bakery", "planner": "home"},
    ),
    User(
        "ferrin",
        "Ferrin",
        {"planner": (*_PRIVATE, "health"), "coder": ("code", "office")},
        {},
    ),
    User(
        "oona",
        "Oona",
        {
            "planner": ("home", "people", "money"),
            "coder": ("code", "office"),
            "coach": ("health", "leisure", "travel"),
        },
        {"coder": "lab"},
    ),
)


@dataclass(frozen=True, slots=True)
class Person:
    """A role in a user's life, which templates call by its slot, and the kind of name it gets."""

    slot: str
    names: str


_CAST: Final = (
    Person("sister", "women"),
    Person("mother", "women"),
    Person("aunt", "women"),
    Person("brother", "men"),
    Person("father", "men"),
    *(
        Person(slot, "anyone")
        for slot in (
            "partner",
            "kid",
            "friend",
            "friend2",
            "colleague",
            "colleague2",
            "boss",
            "neighbour",
        )
    ),
    Person("pet", "animals"),
)

_NAMES: Final = {
    "women": (
        "Ilvi", "Senna", "Maribet", "Odalys", "Thessa", "Brunna", "Calla", "Ysolde", "Wenna",
        "Petrine", "Liorra", "Anselma", "Gudrunn", "Fenja", "Tamsa", "Roswyn", "Elkeba", "Norell",
    ),
    "men": (
        "Dorrik", "Halvard", "Emeric", "Tancred", "Joost", "Aldo", "Wystan", "Corbin", "Fulk",
        "Leopo", "Brannoc", "Sixten", "Orson",
    ),
    "anyone": (
        "Ashby", "Linden", "Remy", "Sorrel", "Quent", "Marlo", "Indigo", "Perrin", "Tove", "Jules",
        "Bryn", "Kester", "Sasha", "Emlyn", "Rowan", "Noor", "Zephyr", "Arden", "Luxa", "Wynn",
        "Darcy", "Ellis", "Fabel", "Greer", "Havel", "Ione", "Jory", "Kit", "Lark", "Merrit",
        "Nico", "Oakley", "Pax", "Reese", "Saskel", "Teal", "Umber", "Vale", "Wren", "Yarrow",
        "Blythe", "Covey", "Dunya", "Embry",
    ),
    "animals": ("Pickle", "Biscuit", "Mungo", "Toffee", "Rasputin", "Waffle", "Dumpling"),
}  # fmt: skip

_TOWNS: Final = (
    "Torvelle", "Quarnby", "Ostermoor", "Little Hensk", "Varrow", "Saint Ottel", "Brindle Bay",
    "Kelsgrave", "Upper Losk", "Maravel", "Dunsey", "Eldmouth", "Hollin Cross", "Pyrrhen",
    "Westerlund Quay", "Ambry", "Noxley", "Trellin", "Gant-on-Sea", "Farrowdale", "Isk", "Ubberton",
)  # fmt: skip
_SHOPS: Final = (
    "Pell & Farrow", "Lumo Market", "Gritstone Hardware", "Mott Brothers", "Oddment Hall",
    "Sundry & Sons", "the Copper Nail", "Wexcombe Stores", "Tilly's Emporium", "Bargain Barge",
    "Northgate Supply", "Fennel & Fold",
)  # fmt: skip
_CAFES: Final = ("the Crooked Cup", "Lindenrast", "Two Sparrows", "Crumb", "the Steam Room")
_STREETS: Final = ("Cutler Street", "Bellfounder Lane", "Nine Elms Walk", "Quay Rise", "Foss Gate")
_CLIENTS: Final = (
    "Halloway Prints", "Maison Trevan", "the Ferrymen's Guild", "Bexar & Loom", "Orchard Theatre",
    "Dr Stellan's clinic", "Kingcup Nurseries", "the Rope Museum", "Amberley Tiles", "Vosk Radio",
    "Silver Hare Inn", "the Weir Trust", "Mallard Opticians", "Grantley Cycles", "Petrel Shipping",
)  # fmt: skip
_PROJECTS: Final = (
    "Larkspur", "Tidemark", "Cobble", "Northlight", "Fernglass", "Abacus", "Wicket", "Plover",
    "Saltbox", "Gearwheel",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class World:
    """The people and places one user talks about."""

    fixed: dict[str, str]
    """Slots that mean the same all year: the user, relatives, friends, the pet."""
    clients: tuple[str, ...]
    projects: tuple[str, ...]

    def slots(self, dice: Dice, moment: datetime) -> dict[str, str]:
        """Return a value for every slot of one note, written at `moment`."""
        return {
            **self.fixed,
            "town": dice.pick(_TOWNS),
            "street": dice.pick(_STREETS),
            "shop": dice.pick(_SHOPS),
            "cafe": dice.pick(_CAFES),
            "client": dice.pick(self.clients),
            "project": dice.pick(self.projects),
            "price": f"{dice.between(18, 240)} crowns",
            "small": str(dice.between(3, 9)),
            "n": str(dice.between(11, 58)),
            "weekday": dice.pick(WEEKDAYS[:6]),
            "date": spoken_date(moment),
            "today": WEEKDAYS[moment.weekday()],
        }


def draw_worlds(dice: Dice) -> dict[str, World]:
    """Return a world for each user id; no two users share a person, client or project."""
    names = {kind: dice.sample(pool, len(pool)) for kind, pool in _NAMES.items()}
    clients = dice.sample(_CLIENTS, len(_CLIENTS))
    projects = dice.sample(_PROJECTS, len(_PROJECTS))
    worlds: dict[str, World] = {}
    for user in USERS:
        fixed = {person.slot: names[person.names].pop() for person in _CAST}
        fixed["me"] = user.name
        fixed["petkind"] = dice.pick(("dog", "cat"))
        worlds[user.user_id] = World(
            fixed,
            clients=tuple(clients.pop() for _ in range(3)),
            projects=tuple(projects.pop() for _ in range(2)),
        )
    return worlds
