"""Takes PyTorch's place in processes that tests start (`tests/conftest.py`)."""

raise ImportError("PyTorch is hidden")
