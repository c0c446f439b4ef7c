"""What defining an operator needs: definition, builder, shared relations, layouts."""
