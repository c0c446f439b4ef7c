"""Tests in the style of TVM's own; run by `python -m byoc_lab.compat -m pytest`."""

import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import relay

executor_kind = tvm.testing.parameter("graph", "debug")
shape, axis = tvm.testing.parameters(((2, 3), 0), ((4, 5), 1))


@tvm.testing.fixture
def data(shape):
    return np.random.rand(*shape).astype("float32")


def test_fixture_parameters_are_passed(target, dev, executor_kind, data, axis):
    x = relay.var("x", shape=data.shape)
    func = relay.Function([x], relay.sum(x, axis=axis))
    executor = relay.create_executor(executor_kind, device=dev, target=target)
    result = executor.evaluate(func)(data)
    tvm.testing.assert_allclose(result.numpy(), data.sum(axis=axis), rtol=1e-5)


class TestParameters:
    number, name = tvm.testing.parameters((1, "one"), (2, "two"), ids=["first", "second"])

    def test_parametrized_method_gets_its_arguments(self, number, name):
        assert (number, name) in ((1, "one"), (2, "two"))


@tvm.testing.parametrize_targets("llvm", "cuda")
def test_target_is_llvm(target, dev):
    assert target == "llvm"


@tvm.testing.requires_cuda
def test_that_needs_cuda_is_skipped():
    raise AssertionError("there is no CUDA here")


@tvm.testing.known_failing_targets("cuda", "vulkan")
@tvm.testing.requires_llvm
@tvm.testing.uses_gpu
def test_type_error_is_a_tvm_error():
    with pytest.raises(tvm.TVMError):
        relay.transform.InferType()(tvm.IRModule.from_expr(relay.nn.relu(relay.var("x"))))
    micro = pytest.importorskip("tvm.micro", exc_type=ImportError)
    raise AssertionError(f"{micro} is not supported")


if __name__ == "__main__":
    tvm.testing.main()
