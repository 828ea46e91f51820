"""The version of the package; the compiler's own and the folder names of the kernel cache must agree with it."""

VERSION = "0.1.0"
ABI_VERSION = 2
