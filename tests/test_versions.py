"""What makes the tests independent of the day on which the dependencies were installed."""

import pkgutil
import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest

oldest = runpy.run_path(str(Path(__file__).resolve().parent.parent / ".ci" / "oldest.py"))["oldest"]


@pytest.fixture
def as_in_make_test(pytestconfig):
    """The filters of pyproject.toml alone, in a run where all warnings are errors too."""
    with warnings.catch_warnings():
        warnings.resetwarnings()
        for line in pytestconfig.getini("filterwarnings"):
            action, message, category, module = f"{line}:::".split(":")[:4]
            category = pkgutil.resolve_name(category if "." in category else f"builtins.{category or 'Warning'}")
            warnings.filterwarnings(action, message, category, module)
        yield


@pytest.mark.parametrize(
    "module", ["orthoprox.datasets.files", "tests.test_versions", "numpy.linalg", "sklearn.utils.validation"]
)
@pytest.mark.parametrize(
    ("category", "ours"),
    [
        (RuntimeWarning, {"orthoprox", "tests", "numpy"}),
        (UserWarning, {"tests"}),  # ours name the line of the caller
        (np.exceptions.VisibleDeprecationWarning, set()),
        (DeprecationWarning, set()),
        (FutureWarning, set()),
    ],
)
def test_only_what_is_ours_is_an_error(as_in_make_test, category, ours, module):
    with warnings.catch_warnings(record=True) as seen:
        if module.split(".")[0] in ours:
            with pytest.raises(category):
                warnings.warn_explicit("said", category, "file.py", 1, module)
        else:
            warnings.warn_explicit("said", category, "file.py", 1, module)
            assert len(seen) == 1


def test_the_oldest_versions_are_the_lower_bounds():
    extras = {"a": ["x>=1.2"], "test": ["us[a,b]", "y-z>=3"], "b": ["v>=0.4.1"]}
    project = {"name": "us", "optional-dependencies": extras}
    assert list(oldest(project, ["w>=2.0", "us[test]"])) == ["w==2.0", "x==1.2", "v==0.4.1", "y-z==3"]
    with pytest.raises(SystemExit, match="'x<2' in pyproject.toml must be of the form name>=version"):
        list(oldest(project, ["x<2"]))
