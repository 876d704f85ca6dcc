"""All of a model and of the process around it that looking at it must leave as it was."""

import hashlib
import random
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedConfig


def snapshot(model: Any) -> dict[str, Any]:  # noqa: ANN401  any torch module
    """Return what there is to compare: weights, flags, hooks, configuration, modes and random generators."""
    weights = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        weights.update(
            name.encode() + tensor.detach().cpu().reshape(-1).contiguous().view(torch.uint8).numpy().tobytes()
        )
    return {
        "weights": weights.hexdigest(),
        "parameters": [(n, p.requires_grad, p.grad is None) for n, p in model.named_parameters()],
        "modules": [(n, type(m).__name__, m.training) for n, m in model.named_modules()],
        "hooks": [
            (n, table, list(value))
            for n, m in model.named_modules()
            for table, value in vars(m).items()
            if table.endswith(("_hooks", "_hooks_with_kwargs", "_hooks_always_called"))
        ],
        "attributes": [(n, sorted(vars(m))) for n, m in model.named_modules()],
        **_settings(getattr(model, "config", None)),
        **_process(),
    }


def changed_parts(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Name what differs between two snapshots."""
    return [name for name in before if before[name] != after[name]]


def _settings(config: Any) -> dict[str, Any]:  # noqa: ANN401  of transformers, or of nobody
    if not isinstance(config, PreTrainedConfig):
        return {}
    return {
        "attention": config._attn_implementation,  # noqa: SLF001  where transformers keeps it
        "pad": getattr(config, "pad_token_id", None),
        "config": config.to_json_string(use_diff=False),
    }


def _process() -> dict[str, Any]:
    module: Any = torch.nn.modules.module
    overrides: Any = torch.overrides
    return {
        "global hooks": [
            list(module._global_forward_hooks),  # noqa: SLF001  torch has no other door to them
            list(module._global_forward_pre_hooks),  # noqa: SLF001
            list(module._global_backward_hooks),  # noqa: SLF001
        ],
        "modes": len(overrides._get_current_function_mode_stack()),  # noqa: SLF001
        "grad": torch.is_grad_enabled(),
        "torch random": torch.random.get_rng_state().numpy().tobytes(),
        "numpy random": str(np.random.get_state()),  # noqa: NPY002  the user's global generator is what must not move
        "python random": random.getstate(),
    }
