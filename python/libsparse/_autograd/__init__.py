"""How autograd follows a problem, and symbolic derivatives."""
