/* A wall clock that can be adjusted while a program runs.
 *
 * Preloaded into a program, it adds the nanoseconds in the file CLOCK_OFFSET (a decimal number)
 * to the real time; without the file, nothing. It reads the file on each call, so that a change
 * takes effect at once. The monotonic clock does not change.
 *
 * libfaketime does more, but cannot be used here: while it looks up the functions that it
 * replaces, it allocates memory, and jemalloc, which Debian's Redis uses, then asks it for the
 * time. This library makes only system calls.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

static long long offset(void) {
  char text[32] = "";
  int before = errno;
  int file = open(CLOCK_OFFSET, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    text[size > 0 ? size : 0] = '\0';
  }
  long long found = strtoll(text, NULL, 10);
  errno = before;
  return found;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  if (syscall(SYS_clock_gettime, clock, now) != 0) return -1;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
    long long moved = now->tv_sec * SECOND + now->tv_nsec + offset();
    now->tv_sec = moved / SECOND;
    now->tv_nsec = moved % SECOND;
  }
  return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec moved;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &moved) != 0) return -1;
  now->tv_sec = moved.tv_sec;
  now->tv_usec = moved.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *now) {
  struct timespec moved;
  clock_gettime(CLOCK_REALTIME, &moved);
  if (now != NULL) *now = moved.tv_sec;
  return moved.tv_sec;
}
