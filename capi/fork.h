#ifndef LIBSPARSE_FORK_H
#define LIBSPARSE_FORK_H

#pragma GCC visibility push(hidden)

// Between the two, by one thread, no fork() of this process happens.
void libsparse_hold_forks(void);
void libsparse_allow_forks(void);

// Between those: children close the descriptor of a lock, or no longer.
void libsparse_add_lock(int descriptor);
void libsparse_remove_lock(int descriptor);

#pragma GCC visibility pop

#endif
