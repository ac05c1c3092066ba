// Videos through the `ffmpeg` program: raw RGB frames go down a pipe and come back as H.264. No
// shell is involved. A missing or failing ffmpeg is an ordinary result, never a signal.
#pragma once

#include "io/png.h"

typedef struct kp_video kp_video;

typedef struct kp_video_def {
  const char *path;     // of the video, e.g. "dam.mp4"; an older file is replaced
  const char *program;  // NULL: "ffmpeg" on the PATH
  double fps;
  int width, height;  // of the frames; an odd side loses its last row or column in the video
  int quality;        // crf: 18 looks lossless, 23 is smaller; 0 to 51
} kp_video_def;

// fps 30, quality 18; path and size must be set.
kp_video_def kp_default_video_def(void);

// True when the program can be found and executed.
bool kp_video_available(const char *program);

// KP_ERROR_BACKEND when there is no ffmpeg.
KP_NODISCARD kp_result kp_video_open(const kp_video_def *def, kp_video **out);

// Append a frame (RGB, or RGBA whose alpha is dropped) of the size given at opening.
KP_NODISCARD kp_result kp_video_add(kp_video *video, const kp_image *image);

// Ends the video and frees it; *video becomes NULL. Fails when ffmpeg did; its last words are part
// of the sentence.
KP_NODISCARD kp_result kp_video_close(kp_video **video);
