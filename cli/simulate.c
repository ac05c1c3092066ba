#include "cli/simulate.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/painter.h"
#include "cli/watch.h"

#define THREADS_MOST 4096

static volatile sig_atomic_t stop_wanted;

// The first signal asks; SA_RESETHAND gives the second its usual effect, which is to end the
// program at once. A pipe that nobody reads any more may say so often.
static void ask_to_stop(int signal_number) {
  (void)signal_number;
  stop_wanted = 1;
}

const volatile sig_atomic_t *kp_cli_catch_stop(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = ask_to_stop;
  action.sa_flags = SA_RESTART | (int)SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  (void)sigaction(SIGINT, &action, NULL);
  (void)sigaction(SIGTERM, &action, NULL);
  (void)sigaction(SIGHUP, &action, NULL);
  action.sa_flags = SA_RESTART;
  (void)sigaction(SIGPIPE, &action, NULL);
  // writing beyond a limit of file sizes is then an error with a sentence
  action.sa_handler = SIG_IGN;
  (void)sigaction(SIGXFSZ, &action, NULL);
  return &stop_wanted;
}

kp_result kp_cli_run_options(const kp_arguments *arguments, bool is_resumed, kp_run_def *def) {
  const char *threads = kp_arguments_get(arguments, "threads");
  const char *frames = kp_arguments_get(arguments, "frames");
  const char *progress = kp_arguments_get(arguments, "progress");
  if (threads != NULL) {
    int64_t n;
    KP_TRY(kp_parse_int("--threads", threads, 1, THREADS_MOST, &n));
    def->threads = (int)n;
  }
  if (kp_arguments_has(arguments, "render")) {
    kp_painter_share(def, is_resumed);
  }
  if (kp_arguments_has(arguments, "watch")) {
    kp_watch_begin(def);
  }
  if (frames != NULL) {
    bool is_single;
    KP_TRY(kp_parse_range(frames, &def->first_frame, &def->last_frame, &is_single));
    def->first_frame = is_single ? -1 : def->first_frame;
  }
  if (progress != NULL) {
    size_t mode;
    KP_TRY(kp_parse_word("--progress", progress, kp_progress_words, KP_PROGRESS_MODE_COUNT, &mode));
    def->progress = (kp_progress_mode)mode;
  }
  return KP_OK;
}

static void tell_end(const kp_run_def *def, const kp_run_outcome *outcome) {
  if (outcome->from_frame >= outcome->wanted) {
    (void)printf("%s is complete: frame %lld of %lld is there\n", def->folder,
                 (long long)outcome->from_frame, (long long)outcome->wanted);
    return;
  }
  (void)printf("done: %s, frame %lld; pictures: kelpie render %s\n", def->folder,
               (long long)outcome->last_frame, def->folder);
}

int kp_cli_simulate(kp_run_def *def,
                    kp_result (*simulate)(const kp_run_def *def, kp_run_outcome *outcome)) {
  def->stop = kp_cli_catch_stop();
  kp_run_outcome outcome;
  kp_result result = simulate(def, &outcome);
  int status = kp_cli_report(result);
  bool is_quiet = def->progress == KP_PROGRESS_NONE || def->progress == KP_PROGRESS_JSON;
  if (result == KP_STOPPED) {
    (void)fprintf(stderr, "kelpie: go on with: kelpie resume %s\n", def->folder);
  } else if (result == KP_OK && !is_quiet) {
    tell_end(def, &outcome);
  }
  kp_painter_end(result == KP_STOPPED, is_quiet);
  return status;
}
