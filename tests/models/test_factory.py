"""A network from a function of the user's own."""

from __future__ import annotations

import sys

import pytest

from recoseg.errors import UserError
from recoseg.models.external import network_from_factory

SOURCE = """
from torch import nn
from {stem}_layers import layer

def network(num_classes, kernel=1):
    return nn.Sequential(layer(3, num_classes, kernel))

def broken(num_classes):
    raise KeyError("colour")

def number(num_classes):
    return num_classes
"""


@pytest.fixture
def module(tmp_path, monkeypatch, request):
    """The name of a module in the current folder, which imports another one beside it."""
    stem = f"own_{abs(hash(request.node.name))}"
    (tmp_path / f"{stem}.py").write_text(SOURCE.format(stem=stem))
    (tmp_path / f"{stem}_layers.py").write_text("from torch.nn import Conv2d as layer\n")
    monkeypatch.chdir(tmp_path)
    yield stem
    for name in [name for name in sys.modules if name.startswith(stem)]:
        del sys.modules[name]


def test_a_function_beside_the_data_makes_the_network(module) -> None:
    path = list(sys.path)
    network = network_from_factory(f"{module}:network", 7)
    assert (network[0].out_channels, network[0].kernel_size) == (7, (1, 1))
    assert network_from_factory(f"{module}:network", 7, kernel=3)[0].kernel_size == (3, 3)
    assert sys.path == path


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("{0}", "needs package.module:function"),
        ("{0}:", "needs package.module:function"),
        ("no_such_{0}:network", "there is no module no_such_.*, neither in .* nor installed; run from"),
        ("{0}.inner:network", "there is no module .*inner"),
        ("{0}:netwrk", "has no function 'netwrk'; did you mean 'network'.*broken"),
        ("{0}:broken", "failed: KeyError: 'colour' .*--debug shows where"),
        ("{0}:number", "returned a int, needs a torch.nn.Module"),
    ],
)
def test_mistakes_are_told_in_one_line(module, factory, message) -> None:
    with pytest.raises(UserError, match=message) as raised:
        network_from_factory(factory.format(module), 7)
    assert "\n" not in str(raised.value)


def test_a_module_that_lacks_another_one_is_told_from_one_that_is_not_there(module, tmp_path) -> None:
    (tmp_path / f"{module}_layers.py").write_text("import nowhere_to_be_found\n")
    with pytest.raises(
        UserError, match=f"importing {module} failed: ModuleNotFoundError.*nowhere_to_be_found"
    ):
        network_from_factory(f"{module}:network", 7)
