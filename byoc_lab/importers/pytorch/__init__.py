"""The importer of PyTorch models: `from_pytorch`, and files that end in .pt2.

    mod, params = byoc_lab.importers.pytorch.from_pytorch(module.eval(), (torch.randn(1, 3, 8, 8),))

Models are exported by `torch.export` (pip install torch); torch is imported on first use. Each
module of `operators/` defines converters of related ATen operators and is imported by discovery.
"""

from byoc_lab.importers.pytorch.convert import from_pytorch, load_pt2
from byoc_lab.importers.registry import register

__all__ = ["from_pytorch"]

register(".pt2", load_pt2, "PyTorch")
