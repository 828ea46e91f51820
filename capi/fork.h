#ifndef LIBSPARSE_FORK_H
#define LIBSPARSE_FORK_H

// Between the two, by one thread, no fork() of this process happens.
__attribute__((visibility("hidden"))) void libsparse_hold_forks(void);
__attribute__((visibility("hidden"))) void libsparse_allow_forks(void);

#endif
