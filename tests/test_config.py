from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfel.config import Config, param, part
from zipfel.errors import ParameterError


@dataclass(frozen=True)
class Engine(Config):
    power: int = param(90, "in horses", low=1, high=900)
    fuel: str = param("diesel", "what it drinks", choices=("diesel", "petrol"))


@dataclass(frozen=True)
class Car(Config):
    doors: int = param(4, "ways in", symbol="d", low=0)
    weight: float = param(1.5, "tons", low=0.1)
    radio: bool = param(False, "noise")
    colour: str = param("red", "how it looks")
    speed: float | None = param(None, "none: as fast as it goes", low=0)
    wheels: int | None = param(None, "none: as many as there are", low=1)
    engine: Engine = part(Engine)  # noqa: RUF009 - a field, as param is


def test_defaults_and_what_is_declared() -> None:
    assert Car().to_dict()["engine"] == {"power": 90, "fuel": "diesel"}
    listed = {p.name: p for p in Car.parameters()}
    assert list(listed) == ["doors", "weight", "radio", "colour", "speed", "wheels", "engine.power", "engine.fuel"]
    assert (listed["doors"].kind, listed["doors"].symbol, listed["doors"].constraint) == ("int", "d", ">= 0")
    assert (listed["speed"].kind, listed["speed"].default) == ("float?", None)
    assert listed["engine.power"].constraint == ">= 1, <= 900"
    assert listed["engine.fuel"].constraint == "diesel | petrol"
    assert listed["colour"].constraint == ""


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("doors", "1_000", 1000),
        ("doors", 3.0, 3),
        ("doors", np.int64(2), 2),
        ("weight", "2e-1", 0.2),
        ("weight", 2, 2.0),
        ("radio", "yes", True),
        ("radio", "OFF", False),
        ("speed", "none", None),
        ("speed", "auto", None),
        ("speed", "12", 12.0),
        ("wheels", None, None),
        ("wheels", "5", 5),
    ],
)
def test_words_from_the_command_line_become_values(name: str, given: object, value: object) -> None:
    found = getattr(Car.from_dict({name: given}), name)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"doors": 1.5}, "doors must be a whole number, got 1.5"),
        ({"doors": True}, "doors must be a whole number, got True"),
        ({"doors": "four"}, "doors must be a whole number, got 'four'"),
        ({"doors": float("inf")}, "doors must be a whole number, got inf"),
        ({"doors": None}, "doors must be a whole number, got None"),
        ({"doors": -1}, "doors must be at least 0, got -1"),
        ({"weight": "heavy"}, "weight must be a number, got 'heavy'"),
        ({"weight": True}, "weight must be a number, got True"),
        ({"weight": "nan"}, "weight must be a finite number, got nan"),
        ({"weight": "inf"}, "weight must be a finite number, got inf"),
        ({"radio": 1}, "radio must be true or false, got 1"),
        ({"radio": "perhaps"}, "radio must be true or false, got 'perhaps'"),
        ({"colour": 3}, "colour must be text, got 3"),
        ({"engine.power": 901}, "power must be at most 900, got 901"),
        ({"engine.fuel": "beer"}, "fuel must be one of diesel, petrol, got 'beer'"),
        ({"engine": 5}, "engine has parameters of its own"),
    ],
)
def test_what_is_refused_says_the_rule_and_the_value(values: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Car.from_dict(values)


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("door", "did you mean 'doors'"),
        ("engine.pover", "unknown parameter 'engine.pover' .did you mean 'engine.power'"),
        ("power", "did you mean 'engine.power'"),
        ("xyzzy", "there is: colour, doors, engine.fuel"),
        ("doors.front", "unknown parameter 'doors.front'"),
    ],
)
def test_an_unknown_name_gets_the_nearest(key: str, hint: str) -> None:
    with pytest.raises(ParameterError, match=hint):
        Car.from_dict({key: 1})


def test_dots_and_nested_dicts_are_the_same_and_add_up() -> None:
    dotted = Car.from_dict({"engine.power": 5, "engine.fuel": "petrol"})
    assert dotted == Car.from_dict({"engine": {"power": 5, "fuel": "petrol"}})
    assert dotted == Car.from_dict({"engine": {"power": 5}, "engine.fuel": "petrol"})
    assert dotted == Car(engine=Engine(5, "petrol"))


@given(
    st.builds(
        Car,
        doors=st.integers(0, 10**12),
        weight=st.floats(0.1, 1e9),
        radio=st.booleans(),
        colour=st.text(),
        speed=st.none() | st.floats(0, 1e9),
        engine=st.builds(Engine, power=st.integers(1, 900), fuel=st.sampled_from(["diesel", "petrol"])),
    )
)
def test_round_trip_through_json(car: Car) -> None:
    assert Car.from_dict(json.loads(json.dumps(car.to_dict()))) == car


def test_frozen_and_replaced_with_checks() -> None:
    car = Car()
    with pytest.raises(FrozenInstanceError):
        car.doors = 5  # type: ignore[misc]
    assert car.replace(doors=2).doors == 2
    with pytest.raises(ParameterError, match="at least 0"):
        car.replace(doors=-2)


def test_a_parameter_that_is_no_more_is_refused_with_what_to_use_instead() -> None:
    @dataclass(frozen=True)
    class Newer(Config):
        removed = {"gears": "set power", "roof": "there is none"}  # noqa: RUF012
        power: int = param(90, "in horses")

    for key, remedy in {"gears": "set power", "roof.colour": "there is none"}.items():
        with pytest.raises(ParameterError, match=f"{key} is no longer a parameter: {remedy}"):
            Newer.from_dict({key: 1})
