"""Tensors as arrays: those of the CPU as they lie, those of other devices copied at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastndcg.errors import InvalidInputError, InvalidTypeError, optional_import
from fastndcg.rankings import Array


def torch_of() -> Any:
    """PyTorch."""
    return optional_import("torch", "evaluating tensors", "torch")


def check_tensor(tensor: Any, name: str) -> None:
    """Refuse what is no dense tensor of bools or real numbers."""
    torch = torch_of()
    if not isinstance(tensor, torch.Tensor):
        raise InvalidTypeError(
            f"`{name}` must be a tensor, not {type(tensor).__name__}; make it one by torch.as_tensor"
        )
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_complex():
        kind = "quantized" if tensor.is_quantized else "complex" if tensor.is_complex() else f"of {tensor.layout}"
        raise InvalidTypeError(f"`{name}` must be a dense tensor of real numbers, but is {kind}; convert it")
    if tensor.device.type == "meta":
        raise InvalidInputError(f"`{name}` must have values, but is a tensor of the device meta")


def check_ids(tensor: Any, name: str) -> None:
    """Refuse what is no tensor of whole numbers."""
    check_tensor(tensor, name)
    if tensor.is_floating_point() or tensor.dtype == torch_of().bool:
        raise InvalidTypeError(f"`{name}` must hold whole numbers, but is of {tensor.dtype}; use torch.long")


def arrays_of(tensors: Iterable[Any]) -> list[Array]:
    """
    The values of tensors: those of the CPU without a copy, those of another device in pinned memory.

    All copies are begun before the one wait for them.
    """
    hosted = [tensor.detach() for tensor in tensors]
    devices = {tensor.device for tensor in hosted if tensor.device.type != "cpu"}
    if devices:
        hosted = [tensor.to("cpu", non_blocking=True) for tensor in hosted]
        for device in devices:
            wait_for(device)
    return [_as_array(tensor) for tensor in hosted]


def wait_for(device: Any) -> None:
    """Wait for what was asked of a device."""
    module = getattr(torch_of(), device.type)
    if hasattr(module, "current_stream"):
        module.current_stream(device).synchronize()  # what other streams do is not ours to wait for
    else:
        module.synchronize()


def _as_array(tensor: Any) -> Array:
    torch = torch_of()
    if tensor.is_floating_point() and tensor.dtype not in (torch.float16, torch.float32, torch.float64):
        tensor = tensor.float()  # bfloat16 and the kinds of eight bits, which NumPy lacks: exact
    array: Array = tensor.resolve_neg().numpy()
    return array
