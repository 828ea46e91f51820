"""What is measured on: files of any folder, or generated matrices and tensors."""
