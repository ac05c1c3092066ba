#include "cli/painter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "par/parallel.h"

#define SHARE 4      // the painter has one thread of so many
#define NICENESS 10  // where threads outnumber cores, the simulation goes first

extern char **environ;

static struct {
  pid_t process;  // 0: none
  int threads;
  bool only_missing;
  char folder[KP_PATH_SIZE];
} painter;

static int spawn_quietly(const char *program, char **arguments) {
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error != 0) {
    return error;
  }
  // what it says of its progress would run into that of the simulation; what goes wrong is seen
  error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  error = error != 0
              ? error
              : posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  error = error != 0 ? error
                     : posix_spawn(&painter.process, program, &actions, NULL, arguments, environ);
  (void)posix_spawn_file_actions_destroy(&actions);
  return error;
}

static void start_painter(const kp_run_folder *folder, void *context) {
  (void)context;
  char program[KP_PATH_SIZE], threads[16];
  ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
  program[n > 0 ? n : 0] = '\0';
  (void)snprintf(threads, sizeof threads, "%d", painter.threads);
  kp_text_copy(painter.folder, sizeof painter.folder, folder->path);
  char *arguments[] = { "kelpie",
                        "render",
                        painter.folder,
                        "--follow",
                        "--threads",
                        threads,
                        painter.only_missing ? "--missing" : NULL,
                        NULL };
  int error = n > 0 ? spawn_quietly(program, arguments) : ENOENT;
  if (error != 0) {
    painter.process = 0;
    (void)fprintf(stderr, "kelpie: warning: no pictures meanwhile: %s\n", strerror(error));
    return;
  }
  (void)setpriority(PRIO_PROCESS, (id_t)painter.process, NICENESS);
}

void kp_painter_share(kp_run_def *def, bool is_resumed) {
  const int all = def->threads > 0 ? def->threads : kp_parallel_threads();
  painter.threads = all >= SHARE ? all / SHARE : 1;
  painter.only_missing = is_resumed;
  def->threads = all > painter.threads ? all - painter.threads : 1;
  def->begun = start_painter;
}

void kp_painter_end(bool is_stopped, bool is_quiet) {
  if (painter.process == 0) {
    return;
  }
  if (is_stopped) {
    (void)kill(painter.process, SIGTERM);
  }
  int status = 0;
  pid_t ended;
  do {
    ended = waitpid(painter.process, &status, 0);
  } while (ended < 0 && errno == EINTR);
  bool is_done = ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (is_done && !is_quiet) {
    (void)printf("pictures are in %s/images\n", painter.folder);
  } else if (!is_done && !is_stopped) {
    (void)fprintf(stderr,
                  "kelpie: warning: not all pictures were made; the rest: kelpie render %s "
                  "--follow --missing\n",
                  painter.folder);
  }
  painter.process = 0;
}
