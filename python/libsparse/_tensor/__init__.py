"""SparseTensor and its constructors."""
