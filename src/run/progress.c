#include "run/progress.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define BAR_CELLS 24
#define MEMORY 0.8  // share of the old value in the moving average

const char *const kp_progress_words[KP_PROGRESS_MODE_COUNT] = {
#define X(name, word) word,
  KP_PROGRESS_MODES(X)
#undef X
};

void kp_progress_begin(kp_progress *progress, kp_progress_mode mode, FILE *out,
                       uint64_t last_frame) {
  *progress = (kp_progress){ .mode = mode, .out = out, .last_frame = last_frame };
  if (mode == KP_PROGRESS_AUTO) {
    progress->mode = isatty(fileno(out)) ? KP_PROGRESS_BAR : KP_PROGRESS_PLAIN;
  }
}

// "1:02:03", "2:03" or "3 s".
static void format_seconds(char *out, size_t size, double seconds) {
  long whole = seconds < 1e8 ? lround(ceil(seconds)) : 100000000;
  if (whole >= 3600) {
    (void)snprintf(out, size, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  } else if (whole >= 60) {
    (void)snprintf(out, size, "%ld:%02ld", whole / 60, whole % 60);
  } else {
    (void)snprintf(out, size, "%ld s", whole);
  }
}

// "particles 1000  1.50 Mps/s", with the cells of grids where there are some; a world of grids
// alone is measured by its cells.
static void format_counts(char *out, size_t size, const kp_frame_facts *facts) {
  long long particles = (long long)facts->report.n_particles, cells = (long long)facts->n_cells;
  double rate = kp_frame_rate(facts);
  if (cells == 0) {
    (void)snprintf(out, size, "particles %lld  %.2f Mps/s", particles, rate);
  } else if (particles == 0) {
    (void)snprintf(out, size, "cells %lld  %.2f Mcs/s", cells, rate);
  } else {
    (void)snprintf(out, size, "particles %lld  cells %lld  %.2f Mps/s", particles, cells, rate);
  }
}

static void print_bar(const kp_progress *p, const kp_frame_facts *facts, double time,
                      const char *eta) {
  double share = p->last_frame > 0 ? (double)facts->frame / (double)p->last_frame : 1.0;
  int full = (int)(share * BAR_CELLS);
  char cells[BAR_CELLS + 1];
  memset(cells, ' ', BAR_CELLS);
  memset(cells, '=', (size_t)full);
  cells[BAR_CELLS] = '\0';
  char counts[128];
  format_counts(counts, sizeof counts, facts);
  // back to the start of the line; clear to its end
  (void)fprintf(p->out, "\r[%s] %llu/%llu  %.3f s  %lld steps  %s  ETA %s\033[K", cells,
                (unsigned long long)facts->frame, (unsigned long long)p->last_frame, time,
                (long long)facts->report.steps, counts, eta);
}

static void print_plain(const kp_progress *p, const kp_frame_facts *facts, double time,
                        const char *eta) {
  char counts[128];
  format_counts(counts, sizeof counts, facts);
  (void)fprintf(p->out, "frame %llu/%llu  time %.4f s  substeps %lld  %s  wall %.2f s  ETA %s\n",
                (unsigned long long)facts->frame, (unsigned long long)p->last_frame, time,
                (long long)facts->report.steps, counts, facts->wall, eta);
}

static void print_json(const kp_progress *p, const kp_frame_facts *facts, double time, double eta,
                       bool has_checkpoint) {
  (void)fprintf(
      p->out,
      "{\"frame\": %llu, \"last_frame\": %llu, \"time\": %.17g, \"substeps\": %lld, "
      "\"retries\": %lld, \"particles\": %lld, \"cells\": %lld, \"mps\": %.6g, \"wall_s\": %.6g, "
      "\"eta_s\": %.6g, \"checkpoint\": %s}\n",
      (unsigned long long)facts->frame, (unsigned long long)p->last_frame, time,
      (long long)facts->report.steps, (long long)facts->report.retries,
      (long long)facts->report.n_particles, (long long)facts->n_cells, kp_frame_rate(facts),
      facts->wall, eta, has_checkpoint ? "true" : "false");
}

void kp_progress_frame(kp_progress *p, const kp_frame_facts *facts, double time,
                       bool has_checkpoint) {
  // the first frame of a session is no measure: nothing is simulated, or all is set up
  if (facts->report.steps > 0) {
    p->mean_wall =
        p->mean_wall > 0.0 ? MEMORY * p->mean_wall + (1.0 - MEMORY) * facts->wall : facts->wall;
  }
  double eta = p->mean_wall * (double)(p->last_frame - facts->frame);
  char text[32] = "?";
  if (p->mean_wall > 0.0) {
    format_seconds(text, sizeof text, eta);
  }
  switch (p->mode) {
  case KP_PROGRESS_BAR:
    print_bar(p, facts, time, text);
    break;
  case KP_PROGRESS_PLAIN:
    print_plain(p, facts, time, text);
    break;
  case KP_PROGRESS_JSON:
    print_json(p, facts, time, eta, has_checkpoint);
    break;
  case KP_PROGRESS_AUTO:
  case KP_PROGRESS_NONE:
  case KP_PROGRESS_MODE_COUNT:
    return;
  }
  (void)fflush(p->out);
}

void kp_progress_end(kp_progress *p) {
  if (p->mode == KP_PROGRESS_BAR) {
    (void)fputc('\n', p->out);
    (void)fflush(p->out);
  }
}
