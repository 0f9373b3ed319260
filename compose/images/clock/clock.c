/* Clocks that can be moved while a program runs.
 *
 * Preloaded into a program, it shifts the wall clock by what the file $FENCEPOST_CLOCK says, and with
 * $FENCEPOST_CLOCK_MONOTONIC the monotonic clock too; without the file, by nothing. The file has four
 * numbers: nanoseconds, how many millionths of a second are gained in each second, and since when and until
 * when (ns of the kernel's monotonic clock). It is read on each call, so that a change takes effect at once.
 *
 * With $FENCEPOST_CLOCK_VDSO, programs that do not ask libc for the time are shifted too, such as those in
 * Go: they call the function of the kernel's vDSO, whose first instructions then jump to the one here.
 *
 * libfaketime does more, but cannot be used here: while it looks up the functions that it
 * replaces, it allocates memory, and jemalloc, which Debian's Redis uses, then asks it for the
 * time. This library makes only system calls, and looks up no function.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
#define EPOCH 1000000000LL /* s; a deadline after that is of the wall clock: no machine is up for 30 years */

static long long in_ns(const struct timespec *time) { return time->tv_sec * SECOND + time->tv_nsec; }

static struct timespec in_seconds(long long ns) {
  struct timespec time = {.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND};
  if (time.tv_nsec < 0) {
    time.tv_nsec += SECOND;
    time.tv_sec -= 1;
  }
  return time;
}

static long long shifted_by(void) {
  const char *path = getenv("FENCEPOST_CLOCK");
  if (path == NULL) return 0;
  char text[96] = "", *rest = text;
  int before = errno;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    text[size > 0 ? size : 0] = '\0';
  }
  long long shift[4]; /* ahead, drift, since, until */
  for (int i = 0; i < 4; i++) shift[i] = strtoll(rest, &rest, 10);
  struct timespec time;
  if (shift[1] != 0 && syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time) == 0) {
    long long now = in_ns(&time);
    if (now > shift[3]) now = shift[3];
    if (now > shift[2]) shift[0] += (now - shift[2]) / 1000 * shift[1] / 1000;
  }
  errno = before;
  return shift[0];
}

static int is_shifted(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
      return 1;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME:
      return getenv("FENCEPOST_CLOCK_MONOTONIC") != NULL;
    default:
      return 0;
  }
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  if (syscall(SYS_clock_gettime, clock, now) != 0) return -1;
  if (is_shifted(clock)) *now = in_seconds(in_ns(now) + shifted_by());
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

/* The kernel waits by its own clocks: a deadline that was computed from a shifted one is shifted back.
 * A thread that is already waiting does not notice a jump of the clock. */
int pthread_cond_timedwait(pthread_cond_t *restrict met, pthread_mutex_t *restrict held,
                           const struct timespec *restrict deadline) {
  clockid_t clock = deadline->tv_sec > EPOCH ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  struct timespec real = *deadline;
  if (is_shifted(clock)) real = in_seconds(in_ns(deadline) - shifted_by());
  if (real.tv_sec < 0) real = in_seconds(0);
  return pthread_cond_clockwait(met, held, clock, &real);
}

#if defined __x86_64__
#define VDSO_FUNCTION "__vdso_clock_gettime"
static const unsigned char JUMP[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0}; /* mov rax, to; jmp rax */
#define JUMP_TO 2
#elif defined __aarch64__
#define VDSO_FUNCTION "__kernel_clock_gettime"
static const unsigned char JUMP[] = {0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6, 0, 0, 0, 0, 0, 0, 0, 0}; /* ldr x16, to; br x16 */
#define JUMP_TO 8
#endif

#ifdef VDSO_FUNCTION
/* The function's place in this process, if it is as long as a jump; 0 without it. */
static uintptr_t in_vdso(const char *name) {
  uintptr_t base = getauxval(AT_SYSINFO_EHDR), loaded = 0;
  const ElfW(Dyn) *entry = NULL;
  const ElfW(Sym) *symbol = NULL;
  const char *names = NULL;
  if (base == 0) return 0;
  const ElfW(Ehdr) *header = (const void *)base;
  const ElfW(Phdr) *segment = (const void *)(base + header->e_phoff);
  for (int i = header->e_phnum - 1; i >= 0; i--) {
    if (segment[i].p_type == PT_LOAD) loaded = base + segment[i].p_offset - segment[i].p_vaddr;
    if (segment[i].p_type == PT_DYNAMIC) entry = (const void *)(base + segment[i].p_offset);
  }
  for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag == DT_STRTAB) names = (const char *)(loaded + entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) symbol = (const void *)(loaded + entry->d_un.d_ptr);
  }
  for (; symbol != NULL && (const char *)symbol < names; symbol++) /* the names follow the symbols */
    if (strcmp(names + symbol->st_name, name) == 0)
      return symbol->st_size >= sizeof JUMP ? loaded + symbol->st_value : 0;
  return 0;
}

/* The kernel copies the page for this process alone. If it refuses, the clock does not move, and Fencepost
 * sees that. */
__attribute__((constructor)) static void replace_in_vdso(void) {
  unsigned char jump[sizeof JUMP];
  uintptr_t to = (uintptr_t)clock_gettime, place;
  if (getenv("FENCEPOST_CLOCK_VDSO") == NULL || (place = in_vdso(VDSO_FUNCTION)) == 0) return;
  memcpy(jump, JUMP, sizeof jump);
  memcpy(jump + JUMP_TO, &to, sizeof to);
  int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  if (memory < 0) return;
  ssize_t written = pwrite(memory, jump, sizeof jump, (off_t)place);
  (void)written;
  close(memory);
}
#endif
