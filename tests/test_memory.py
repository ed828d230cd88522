"""How much memory there is, as each system says it."""

import ctypes

import pytest

from orthoprox import _memory


class Kernel:
    """What Windows answers with sixteen gibibytes; or that it cannot say."""

    def __init__(self, knows):
        self.knows = knows

    def GlobalMemoryStatusEx(self, status):
        words = ctypes.cast(status, ctypes.POINTER(ctypes.c_uint32))
        assert (words[0], words[1]) == (64, 0)  # its size, which Windows demands
        if self.knows:
            ctypes.cast(status, ctypes.POINTER(ctypes.c_uint64))[1] = 2**34
        return int(self.knows)


@pytest.mark.parametrize(("knows", "found"), [(True, 2**34), (False, _memory.UNKNOWN)])
def test_the_memory_that_windows_reports(knows, found):
    assert _memory._of_windows(Kernel(knows)) == found


def test_the_memory_of_this_machine_is_known():
    assert 2**26 < _memory._installed() < 2**50
