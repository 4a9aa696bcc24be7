"""Arrays that grow keep their rows, and double so that appending costs little."""

import numpy as np
import pytest

from loglin.kernels.growing import grown


@pytest.mark.parametrize("shape", [(4,), (4, 3)])
def test_an_array_with_enough_rows_stays_itself(shape):
    array = np.ones(shape, np.int32)
    assert grown(array, 4).shape == shape
    assert np.shares_memory(grown(array, 4), array)


@pytest.mark.parametrize(("size", "rows"), [(5, 8), (8, 8), (30, 30)])
@pytest.mark.parametrize("shape", [(4,), (4, 3)])
def test_a_full_array_doubles_or_grows_to_what_is_asked(shape, size, rows):
    array = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    more = grown(array, size)
    assert more.shape == (rows, *shape[1:])
    assert more.dtype == np.int32
    np.testing.assert_array_equal(more[:4], array)
