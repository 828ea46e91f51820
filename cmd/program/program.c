// The compiler as an executable: it is linked to the library beside it, which has all of its code.
#include "../../capi/libsparse.h"

int main(int argc, char **argv)
{
    return libsparse_command(argc - 1, argv + 1);
}
