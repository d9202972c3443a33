/* Preloaded (LD_PRELOAD) to strike one process at its n-th file operation below one folder.

   SABOTAGE="FOLDER TRACE KIND N ACTION" configures the process at its start, sabotage() with the same text at any time;
   no other process is touched, children included. Every operation below FOLDER appends "kind path" to the file TRACE.
   KIND is write, sync, rename, unlink or any. Before the N-th of its kind (0: never), ACTION > 0 raises that signal;
   ACTION < 0 makes it and every later one of its kind fail with errno -ACTION. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    pid_t process;
    char folder[PATH_MAX], kind[16];
    long at, seen;
    int action, trace;
} plan;

int sabotage(const char *text) {
    char trace[PATH_MAX];
    plan.seen = 0;
    if (sscanf(text, "%4095s %4095s %15s %ld %d", plan.folder, trace, plan.kind, &plan.at, &plan.action) != 5)
        abort();
    plan.trace = open(trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    plan.process = getpid();
    return plan.trace;
}

__attribute__((constructor)) static void configure(void) {
    const char *text = getenv("SABOTAGE");
    if (text)
        sabotage(text);
    unsetenv("SABOTAGE");
    unsetenv("LD_PRELOAD");
}

static const char *opened(int file, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return path;
}

static const char *entry(int folder, const char *name, char *path) {
    if (name[0] != '/') {
        folder == AT_FDCWD ? getcwd(path, PATH_MAX) : opened(folder, path);
        size_t length = strlen(path);
        snprintf(path + length, PATH_MAX - length, "/%s", name);
        return path;
    }
    return strcpy(path, name);
}

static int below(const char *folder, const char *path) {
    size_t length = strlen(folder);
    return !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

/* Counts and traces one operation; true if it is the one to strike. */
static int strikes(const char *kind, const char *path) {
    if (plan.process != getpid() || !below(plan.folder, path))
        return 0;
    dprintf(plan.trace, "%s %s\n", kind, path);
    if (strcmp(plan.kind, "any") && strcmp(plan.kind, kind))
        return 0;
    plan.seen++;
    return plan.at && (plan.seen == plan.at || (plan.action < 0 && plan.seen > plan.at));
}

#define OPERATION(type, name, kind, path, parameters, arguments)                                                       \
    type name parameters {                                                                                             \
        char buffer[PATH_MAX];                                                                                         \
        if (strikes(kind, path)) {                                                                                     \
            if (plan.action < 0) {                                                                                     \
                errno = -plan.action;                                                                                  \
                return -1;                                                                                             \
            }                                                                                                          \
            raise(plan.action);                                                                                        \
        }                                                                                                              \
        return ((__typeof__(&name))dlsym(RTLD_NEXT, #name)) arguments;                                                 \
    }

OPERATION(ssize_t, write, "write", opened(file, buffer), (int file, const void *data, size_t size), (file, data, size))
OPERATION(ssize_t, pwrite, "write", opened(file, buffer), (int file, const void *data, size_t size, off_t at),
          (file, data, size, at))
OPERATION(ssize_t, pwrite64, "write", opened(file, buffer), (int file, const void *data, size_t size, off64_t at),
          (file, data, size, at))
OPERATION(int, fsync, "sync", opened(file, buffer), (int file), (file))
OPERATION(int, fdatasync, "sync", opened(file, buffer), (int file), (file))
OPERATION(int, rename, "rename", entry(AT_FDCWD, to, buffer), (const char *from, const char *to), (from, to))
OPERATION(int, renameat, "rename", entry(folder, to, buffer), (int of, const char *from, int folder, const char *to),
          (of, from, folder, to))
OPERATION(int, renameat2, "rename", entry(folder, to, buffer),
          (int of, const char *from, int folder, const char *to, unsigned flags), (of, from, folder, to, flags))
OPERATION(int, unlink, "unlink", entry(AT_FDCWD, name, buffer), (const char *name), (name))
OPERATION(int, rmdir, "unlink", entry(AT_FDCWD, name, buffer), (const char *name), (name))
OPERATION(int, unlinkat, "unlink", entry(folder, name, buffer), (int folder, const char *name, int flags),
          (folder, name, flags))
