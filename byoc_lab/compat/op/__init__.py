"""TVM's names about operators: registration, strategies, legalizations."""
