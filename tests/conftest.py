"""What all tests share: reproducible draws, a generator, the data folder."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# The same examples every time, on a slow computer too. To look further: pytest --hypothesis-profile=explore
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=10,  # of each of five hundred laws, of which make laws tries 30; those of terms take half
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("few", settings.get_profile("ci"), max_examples=5)  # the same laws with other versions
settings.register_profile("laws", settings.get_profile("ci"), max_examples=30)  # make laws: a stage of its own
settings.register_profile("explore", settings.get_profile("ci"), derandomize=False, max_examples=1000)
settings.load_profile("ci")

REPOSITORY = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs real data, so that it can be left out or asked for; skip what this system does not have."""
    systems = {"posix": os.name == "posix", "linux": sys.platform == "linux"}
    for item in items:
        for name in (name for name, here in systems.items() if not here and item.get_closest_marker(name)):
            item.add_marker(pytest.mark.skip(reason=f"only on {name}"))
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker("data")


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers that are the same in every run."""
    return np.random.default_rng(0)


@pytest.fixture
def heard() -> Iterator[None]:
    """Ctrl-C is heard, although background jobs of a shell ignore it, and what they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data; a test that needs it is skipped where there is none."""
    folder = Path(os.environ.get("ORTHOPROX_DATA") or REPOSITORY.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"There is no data in {folder}. Name its folder in the variable ORTHOPROX_DATA.")
    return folder
