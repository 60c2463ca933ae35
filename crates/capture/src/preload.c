/*
 * Loaded into every process of a build under capture. When one is about to become a compiler,
 * archiver or linker, it becomes the shim of that name instead, and the shim is told in
 * RACEWARDEN_REAL what it stands for. Search paths and command lines stay as they are, so a build
 * configured under capture remembers the user's compiler and not a shim.
 *
 * A function may run between vfork and exec: no allocation, nothing shared is written.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* As they were when the process started: a build may clean its environment before it executes. */
static const char *const names[] = {"RACEWARDEN_SHIMS", "RACEWARDEN_SESSION", "LD_PRELOAD"};
enum { NAMES = sizeof names / sizeof *names };
static char *kept[NAMES]; /* "NAME=value" */
static const char *shims;

__attribute__((constructor)) static void keep(void) {
    if (!getenv("RACEWARDEN_SHIMS") || getenv("RACEWARDEN_NESTED"))
        return;
    for (int i = 0; i < NAMES; i++) {
        const char *value = getenv(names[i]);
        if (!value || asprintf(&kept[i], "%s=%s", names[i], value) < 0)
            kept[i] = NULL;
    }
    if (kept[0])
        shims = strchr(kept[0], '=') + 1;
}

static int has(char *const envp[], const char *name) {
    size_t length = strlen(name);
    for (; envp && *envp; envp++)
        if (!strncmp(*envp, name, length) && (*envp)[length] == '=')
            return 1;
    return 0;
}

/* Whether processes that this one starts belong to the capture. */
static int active(char *const envp[]) {
    return shims && !getenv("RACEWARDEN_NESTED") && !has(envp, "RACEWARDEN_NESTED");
}

/* The shim for `file`, or 0 when the call is none of ours. */
static int shim_for(const char *file, char *const envp[], char shim[PATH_MAX]) {
    if (!file || !active(envp))
        return 0;
    const char *slash = strrchr(file, '/');
    const char *base = slash ? slash + 1 : file;
    if (!*base || snprintf(shim, PATH_MAX, "%s/%s", shims, base) >= PATH_MAX)
        return 0;
    if (!strcmp(shim, file) || access(shim, X_OK))
        return 0;
    /* A name that leads nowhere must fail as it would have. */
    return !slash || !access(file, X_OK);
}

static size_t count(char *const list[]) {
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

/* `envp` with what keeps the capture going, and, for a shim, what it stands for. */
#define ENVIRONMENT(envp, real)                                                                    \
    ({                                                                                             \
        const char *standing_for_ = (real);                                                        \
        size_t n_ = count(envp);                                                                   \
        char **new_ = alloca((n_ + NAMES + 2) * sizeof *new_);                                     \
        if (n_)                                                                                    \
            memcpy(new_, envp, n_ * sizeof *new_);                                                 \
        for (int i_ = 0; i_ < NAMES && active(envp); i_++)                                         \
            if (kept[i_] && !has(envp, names[i_]))                                                 \
                new_[n_++] = kept[i_];                                                             \
        if (standing_for_) {                                                                       \
            char *entry_ = alloca(strlen(standing_for_) + sizeof "RACEWARDEN_REAL=");              \
            strcpy(stpcpy(entry_, "RACEWARDEN_REAL="), standing_for_);                             \
            new_[n_++] = entry_;                                                                   \
        }                                                                                          \
        new_[n_] = NULL;                                                                           \
        new_;                                                                                      \
    })

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int execve(const char *path, char *const argv[], char *const envp[]) {
    char shim[PATH_MAX];
    if (shim_for(path, envp, shim))
        return REAL(execve)(shim, argv, ENVIRONMENT(envp, path));
    return REAL(execve)(path, argv, ENVIRONMENT(envp, NULL));
}

int execv(const char *path, char *const argv[]) {
    return execve(path, argv, environ);
}

int execvpe(const char *file, char *const argv[], char *const envp[]) {
    char shim[PATH_MAX];
    if (shim_for(file, envp, shim))
        return REAL(execve)(shim, argv, ENVIRONMENT(envp, file));
    return REAL(execvpe)(file, argv, ENVIRONMENT(envp, NULL));
}

int execvp(const char *file, char *const argv[]) {
    return execvpe(file, argv, environ);
}

/* The words of a variadic call as an array on the caller's stack. */
#define COLLECT(first, last)                                                                       \
    va_list list_;                                                                                 \
    size_t words_ = 1;                                                                             \
    va_start(list_, first);                                                                        \
    while (va_arg(list_, char *))                                                                  \
        words_++;                                                                                  \
    va_end(list_);                                                                                 \
    char **argv = alloca((words_ + 1) * sizeof *argv);                                             \
    argv[0] = (char *)first;                                                                       \
    va_start(list_, first);                                                                        \
    for (size_t i_ = 1; i_ <= words_; i_++)                                                        \
        argv[i_] = va_arg(list_, char *);                                                          \
    last;                                                                                          \
    va_end(list_)

int execl(const char *path, const char *arg, ...) {
    COLLECT(arg, (void)0);
    return execve(path, argv, environ);
}

int execlp(const char *file, const char *arg, ...) {
    COLLECT(arg, (void)0);
    return execvpe(file, argv, environ);
}

int execle(const char *path, const char *arg, ...) {
    COLLECT(arg, char *const *envp = va_arg(list_, char *const *));
    return execve(path, argv, envp);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
    char shim[PATH_MAX];
    if (shim_for(path, envp, shim))
        return REAL(posix_spawn)(pid, shim, actions, attributes, argv, ENVIRONMENT(envp, path));
    return REAL(posix_spawn)(pid, path, actions, attributes, argv, ENVIRONMENT(envp, NULL));
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
    char shim[PATH_MAX];
    if (shim_for(file, envp, shim))
        return REAL(posix_spawn)(pid, shim, actions, attributes, argv, ENVIRONMENT(envp, file));
    return REAL(posix_spawnp)(pid, file, actions, attributes, argv, ENVIRONMENT(envp, NULL));
}
