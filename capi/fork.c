// Forks of the host wait while the compiler starts a process.

#include <pthread.h>

#include "fork.h"

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

void libsparse_hold_forks(void) { pthread_mutex_lock(&starting); }

void libsparse_allow_forks(void) { pthread_mutex_unlock(&starting); }

// As the library is loaded; it is never unloaded, since Go can't be.
__attribute__((constructor)) static void wait_at_forks(void) {
    pthread_atfork(libsparse_hold_forks, libsparse_allow_forks, libsparse_allow_forks);
}
