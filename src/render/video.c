#include "render/video.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"

#define WORDS_SIZE 2048

extern char **environ;

struct kp_video {
  pid_t process;
  int frames;  // to ffmpeg's input
  int words;   // from its error output
  int width, height;
  size_t n_said;
  char said[WORDS_SIZE];  // the end of what it said
  uint8_t *row;
};

kp_video_def kp_default_video_def(void) {
  return (kp_video_def){ .fps = 30.0, .quality = 18 };
}

static bool is_program(const char *path) {
  return access(path, X_OK) == 0;
}

// Full path of a program the way execvp would find it; false when it is nowhere.
static bool find_program(const char *name, char *out, size_t size) {
  if (strchr(name, '/') != NULL) {
    kp_text_copy(out, size, name);
    return is_program(name);
  }
  const char *at = getenv("PATH");
  while (at != NULL && *at != '\0') {
    const char *end = strchr(at, ':');
    int n = end != NULL ? (int)(end - at) : (int)strlen(at);
    int length = snprintf(out, size, "%.*s/%s", n, at, name);
    if (n > 0 && length > 0 && (size_t)length < size && is_program(out)) {
      return true;
    }
    at = end != NULL ? end + 1 : NULL;
  }
  return false;
}

bool kp_video_available(const char *program) {
  char path[4096];
  return find_program(program != NULL ? program : "ffmpeg", path, sizeof path);
}

static kp_result check_def(const kp_video_def *def) {
  if (def->path == NULL || def->path[0] == '\0') {
    return kp_fail(KP_ERROR_ARGUMENT, "a video needs a file name");
  }
  if (def->width < 2 || def->height < 2) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s: a video of %d x %d pixels", def->path, def->width,
                   def->height);
  }
  if (!(def->fps >= 0.1 && def->fps <= 1000.0) || def->quality < 0 || def->quality > 51) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s: %g frames per second at quality %d", def->path, def->fps,
                   def->quality);
  }
  return KP_OK;
}

// Pipes that the child does not inherit but through its file actions.
static kp_result make_pipe(int ends[2]) {
  if (pipe(ends) != 0) {
    return kp_fail(KP_ERROR_IO, "no pipe for ffmpeg: %s", strerror(errno));
  }
  (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  return KP_OK;
}

static void close_pipe(int ends[2]) {
  close(ends[0]);
  close(ends[1]);
}

static int start(const kp_video_def *def, const char *program, int in, int out, pid_t *process) {
  char size[64], fps[64], quality[16], path[4096];
  (void)snprintf(size, sizeof size, "%dx%d", def->width, def->height);
  (void)snprintf(fps, sizeof fps, "%.6g", def->fps);
  (void)snprintf(quality, sizeof quality, "%d", def->quality);
  // a name that begins with a dash or holds a colon must not be taken for an option or a protocol
  (void)snprintf(path, sizeof path, "file:%s", def->path);
  char *arguments[] = { "ffmpeg",
                        "-hide_banner",
                        "-loglevel",
                        "error",
                        "-nostdin",
                        "-y",
                        "-f",
                        "rawvideo",
                        "-pixel_format",
                        "rgb24",
                        "-video_size",
                        size,
                        "-framerate",
                        fps,
                        "-i",
                        "pipe:0",
                        "-vf",
                        "crop=trunc(iw/2)*2:trunc(ih/2)*2:0:0",
                        "-c:v",
                        "libx264",
                        "-preset",
                        "medium",
                        "-crf",
                        quality,
                        "-pix_fmt",
                        "yuv420p",
                        "-movflags",
                        "+faststart",
                        path,
                        NULL };
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error != 0) {
    return error;
  }
  error = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  error = error != 0 ? error : posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
  error = error != 0
              ? error
              : posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  error = error != 0 ? error : posix_spawn(process, program, &actions, NULL, arguments, environ);
  (void)posix_spawn_file_actions_destroy(&actions);
  return error;
}

static kp_result create_video(const kp_video_def *def, kp_video **out) {
  kp_video *video = kp_alloc_zero(sizeof *video, KP_MEMORY_RENDER);
  if (video == NULL) {
    return KP_ERROR_MEMORY;
  }
  video->row = kp_alloc(3 * (size_t)def->width, KP_MEMORY_RENDER);
  if (video->row == NULL) {
    kp_free(video);
    return KP_ERROR_MEMORY;
  }
  video->width = def->width;
  video->height = def->height;
  *out = video;
  return KP_OK;
}

static void free_video(kp_video *video) {
  kp_free(video->row);
  kp_free(video);
}

kp_result kp_video_open(const kp_video_def *def, kp_video **out) {
  const char *name = def->program != NULL ? def->program : "ffmpeg";
  char program[4096];
  *out = NULL;
  KP_TRY(check_def(def));
  if (!find_program(name, program, sizeof program)) {
    return kp_fail(KP_ERROR_BACKEND, "%s: the program %s was not found; the pictures are all there",
                   def->path, name);
  }
  kp_video *video;
  int frames[2], words[2];
  KP_TRY(create_video(def, &video));
  kp_result result = make_pipe(frames);
  if (result != KP_OK) {
    free_video(video);
    return result;
  }
  result = make_pipe(words);
  if (result != KP_OK) {
    close_pipe(frames);
    free_video(video);
    return result;
  }
  int error = start(def, program, frames[0], words[1], &video->process);
  close(frames[0]);
  close(words[1]);
  video->frames = frames[1];
  video->words = words[0];
  if (error != 0) {
    close(video->frames);
    close(video->words);
    free_video(video);
    return kp_fail(KP_ERROR_BACKEND, "%s could not be started: %s", program, strerror(error));
  }
  // both ends are polled, so that neither side can wait for the other for ever
  (void)fcntl(video->frames, F_SETFL, O_NONBLOCK);
  (void)fcntl(video->words, F_SETFL, O_NONBLOCK);
  *out = video;
  return KP_OK;
}

// Keep the end of what ffmpeg says; false at the end of its output.
static bool listen_to(kp_video *video) {
  char part[512];
  ssize_t n = read(video->words, part, sizeof part);
  if (n <= 0) {
    return n < 0 && (errno == EAGAIN || errno == EINTR);
  }
  size_t count = (size_t)n, room = WORDS_SIZE - 1;
  if (video->n_said + count > room) {
    size_t drop = video->n_said + count - room;
    memmove(video->said, video->said + drop, video->n_said - drop);
    video->n_said -= drop;
  }
  memcpy(video->said + video->n_said, part, count);
  video->n_said += count;
  return true;
}

// Write to a pipe whose reader may have gone, without a signal: SIGPIPE is blocked in this thread
// and, if the write raised it, taken off the queue before it is unblocked.
static ssize_t write_quietly(int file, const uint8_t *bytes, size_t n) {
  sigset_t pipe_set, old_set, waiting;
  sigemptyset(&pipe_set);
  sigaddset(&pipe_set, SIGPIPE);
  sigpending(&waiting);
  bool was_waiting = sigismember(&waiting, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_set, &old_set);
  ssize_t written = write(file, bytes, n);
  int error = errno;
  if (written < 0 && error == EPIPE && !was_waiting) {
    const struct timespec none = { 0, 0 };
    while (sigtimedwait(&pipe_set, NULL, &none) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &old_set, NULL);
  errno = error;
  return written;
}

static kp_result send_bytes(kp_video *video, const uint8_t *bytes, size_t n) {
  bool listening = true;
  while (n > 0) {
    struct pollfd files[2] = { { .fd = video->frames, .events = POLLOUT },
                               { .fd = listening ? video->words : -1, .events = POLLIN } };
    if (poll(files, 2, -1) < 0 && errno != EINTR) {
      return kp_fail(KP_ERROR_IO, "waiting for ffmpeg failed: %s", strerror(errno));
    }
    if (files[1].revents != 0) {
      listening = listen_to(video);
    }
    if (files[0].revents == 0) {
      continue;
    }
    ssize_t written = write_quietly(video->frames, bytes, n);
    if (written > 0) {
      bytes += written;
      n -= (size_t)written;
    } else if (errno != EAGAIN && errno != EINTR) {
      return kp_fail(KP_ERROR_IO, "ffmpeg stopped taking frames: %s", strerror(errno));
    }
  }
  return KP_OK;
}

kp_result kp_video_add(kp_video *video, const kp_image *image) {
  if (image->width != video->width || image->height != video->height) {
    return kp_fail(KP_ERROR_ARGUMENT, "a frame of %d x %d pixels in a video of %d x %d",
                   image->width, image->height, video->width, video->height);
  }
  size_t width = (size_t)image->width, height = (size_t)image->height;
  if (image->n_channels == 3) {
    return send_bytes(video, image->pixels, 3 * width * height);
  }
  for (size_t y = 0; y < height; ++y) {
    const uint8_t *from = image->pixels + y * width * (size_t)image->n_channels;
    for (size_t x = 0; x < width; ++x) {
      memcpy(video->row + 3 * x, from + x * (size_t)image->n_channels, 3);
    }
    KP_TRY(send_bytes(video, video->row, 3 * width));
  }
  return KP_OK;
}

kp_result kp_video_close(kp_video **handle) {
  kp_video *video = *handle;
  if (video == NULL) {
    return KP_OK;
  }
  *handle = NULL;
  close(video->frames);
  struct pollfd words = { .fd = video->words, .events = POLLIN };
  do {
    (void)poll(&words, 1, -1);
  } while (listen_to(video));
  close(video->words);
  int status = 0;
  pid_t ended;
  do {
    ended = waitpid(video->process, &status, 0);
  } while (ended < 0 && errno == EINTR);

  kp_result result = KP_OK;
  if (ended < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    while (video->n_said > 0 && video->said[video->n_said - 1] == '\n') {
      --video->n_said;
    }
    video->said[video->n_said] = '\0';
    result = kp_fail(KP_ERROR_IO, "ffmpeg failed%s%s", video->n_said > 0 ? ": " : "", video->said);
  }
  free_video(video);
  return result;
}
