"""Conversion of PyTorch tensors to arrays: without a copy on the CPU, with one wait for other devices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.rankings.validation import Array
from fastndcg.scoring.torch_source import load_torch


def check_tensor(tensor: Any, name: str) -> None:
    """Raise an error if the argument `name` is no dense tensor of bools or real numbers."""
    torch = load_torch()
    if not isinstance(tensor, torch.Tensor):
        raise InvalidTypeError(
            f"`{name}` must be a tensor, not {type(tensor).__name__}. Convert it by torch.as_tensor."
        )
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_complex():
        kind = "quantized" if tensor.is_quantized else "complex" if tensor.is_complex() else f"of {tensor.layout}"
        raise InvalidTypeError(f"`{name}` must be a dense tensor of real numbers, but is {kind}. Convert it.")
    if tensor.device.type == "meta":
        raise InvalidInputError(
            f"`{name}` must have values, but is a tensor of the device meta. Move it to a real device."
        )


def check_ids(tensor: Any, name: str) -> None:
    """Raise an error if the argument `name` is no tensor of integers."""
    check_tensor(tensor, name)
    if tensor.is_floating_point() or tensor.dtype == load_torch().bool:
        raise InvalidTypeError(f"`{name}` must hold whole numbers, but is of {tensor.dtype}. Convert it to torch.long.")


def to_arrays(tensors: Iterable[Any]) -> list[Array]:
    """
    Return tensors as arrays, without a copy if they are on the CPU.

    Copies from other devices are all started before the first wait.
    """
    hosted = [tensor.detach() for tensor in tensors]
    devices = {tensor.device for tensor in hosted if tensor.device.type != "cpu"}
    if devices:
        hosted = [tensor.to("cpu", non_blocking=True) for tensor in hosted]
        for device in devices:
            wait_for(device)
    return [_as_array(tensor) for tensor in hosted]


def wait_for(device: Any) -> None:
    """Wait until the current stream of a device has finished its copies."""
    module = getattr(load_torch(), device.type)
    if hasattr(module, "current_stream"):
        module.current_stream(device).synchronize()  # other streams may have work that is unrelated
    else:
        module.synchronize()


def _as_array(tensor: Any) -> Array:
    torch = load_torch()
    if tensor.is_floating_point() and tensor.dtype not in (torch.float16, torch.float32, torch.float64):
        tensor = tensor.float()  # NumPy lacks bfloat16 and the eight-bit floats; float32 holds their values exactly
    array: Array = tensor.resolve_neg().numpy()
    return array
