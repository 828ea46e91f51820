// Forks of the host wait while the compiler starts a process or opens a lock, and children close the locks.

#include <pthread.h>
#include <unistd.h>

#include "fork.h"

#define MOST_LOCKS 64 // that are open at once; children have any further ones open

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int locks[MOST_LOCKS];
static int count;

void libsparse_hold_forks(void) { pthread_mutex_lock(&held); }

void libsparse_allow_forks(void) { pthread_mutex_unlock(&held); }

void libsparse_add_lock(int descriptor) {
    if (count < MOST_LOCKS)
        locks[count++] = descriptor;
}

void libsparse_remove_lock(int descriptor) {
    for (int n = 0; n < count; n++)
        if (locks[n] == descriptor) {
            locks[n] = locks[--count];
            break;
        }
}

static void begin_child(void) {
    for (int n = 0; n < count; n++)
        close(locks[n]);
    count = 0;
    pthread_mutex_unlock(&held);
}

// As the library is loaded; it is never unloaded, since Go can't be.
__attribute__((constructor)) static void wait_at_forks(void) {
    pthread_atfork(libsparse_hold_forks, libsparse_allow_forks, begin_child);
}
