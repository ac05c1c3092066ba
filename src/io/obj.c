#include "io/obj.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "io/files.h"
#include "io/mesh_file.h"
#include "io/words.h"

// Statements that say nothing about the triangles.
static const char *const skipped_words[] = {
  "vt",       "vn",         "vp",        "p",      "l",      "g",      "o",    "s",
  "mg",       "usemtl",     "mtllib",    "usemap", "maplib", "bevel",  "lod",  "c_interp",
  "d_interp", "shadow_obj", "trace_obj", "ctech",  "stech",  "cstype", "deg",  "bmat",
  "step",     "curv",       "curv2",     "surf",   "parm",   "trim",   "hole", "scrv",
  "sp",       "end",        "con",       "call",   "csh",
};

static bool is_skipped(const char *word) {
  for (size_t i = 0; i < sizeof skipped_words / sizeof *skipped_words; ++i) {
    if (strcmp(word, skipped_words[i]) == 0) {
      return true;
    }
  }
  return word[0] == '#';
}

typedef struct obj_reader {
  const char *name;
  kp_words words;
  kp_mesh mesh;
  kp_index n_vertices, n_triangles;  // read so far
} obj_reader;

static kp_words begin(const void *bytes, size_t n_bytes) {
  kp_words words = kp_words_begin(bytes, n_bytes);
  words.joins_lines = true;
  return words;
}

static kp_result fail_at(const obj_reader *reader, const char *what, const char *word) {
  return kp_fail(KP_ERROR_FORMAT, "%s:%llu: %s%s%s", reader->name,
                 (unsigned long long)reader->words.line, what, word[0] != '\0' ? ", not " : "",
                 word);
}

// First pass: how much there is, so that nothing is allocated on the word of the file alone.
static kp_result count(obj_reader *reader, int64_t *n_vertices, int64_t *n_triangles) {
  *n_vertices = 0;
  *n_triangles = 0;
  kp_words *words = &reader->words;
  while (kp_words_next_line(words)) {
    char word[KP_WORD_SIZE];
    if (!kp_words_next(words, word)) {
      continue;
    }
    if (strcmp(word, "v") == 0) {
      ++*n_vertices;
    } else if (strcmp(word, "f") == 0) {
      int64_t n_corners = 0;
      while (kp_words_next(words, word)) {
        ++n_corners;
      }
      if (n_corners < 3) {
        return kp_fail(KP_ERROR_FORMAT, "%s:%llu: a face has %d corner%s, needs 3 or more",
                       reader->name, (unsigned long long)words->line, (int)n_corners,
                       n_corners == 1 ? "" : "s");
      }
      *n_triangles += n_corners - 2;
    } else if (!is_skipped(word)) {
      return kp_fail(KP_ERROR_FORMAT, "%s:%llu: unknown statement '%s'", reader->name,
                     (unsigned long long)words->line, word);
    }
  }
  if (*n_vertices > INT32_MAX || *n_triangles > INT32_MAX) {
    return kp_fail(KP_ERROR_FORMAT, "%s: more than 2^31 vertices or triangles", reader->name);
  }
  return KP_OK;
}

static kp_result read_vertex(obj_reader *reader) {
  double x[3];
  for (int i = 0; i < 3; ++i) {
    char word[KP_WORD_SIZE];
    if (!kp_words_next_number(&reader->words, word, &x[i])) {
      return fail_at(reader, "a vertex needs three finite numbers", word);
    }
  }
  reader->mesh.vertices[reader->n_vertices++] = kp_vec3_make(x[0], x[1], x[2]);
  return KP_OK;
}

// The vertex of a face's corner: the number before the first slash.
static kp_result read_corner(obj_reader *reader, const char *corner, kp_index *vertex) {
  char word[KP_WORD_SIZE];
  kp_text_copy(word, sizeof word, corner);
  word[strcspn(word, "/")] = '\0';
  int64_t index;
  if (!kp_word_integer(word, &index) || index == 0) {
    return fail_at(reader, "a face needs vertex numbers from 1 or below 0", corner);
  }

  // negative numbers count back from the last vertex so far
  int64_t from_zero = index > 0 ? index - 1 : reader->n_vertices + index;
  if (from_zero < 0 || from_zero >= reader->mesh.n_vertices) {
    return kp_fail(KP_ERROR_FORMAT, "%s:%llu: a face uses vertex %lld, but there are only %d",
                   reader->name, (unsigned long long)reader->words.line, (long long)index,
                   index > 0 ? reader->mesh.n_vertices : reader->n_vertices);
  }
  *vertex = (kp_index)from_zero;
  return KP_OK;
}

static kp_result read_face(obj_reader *reader) {
  kp_triangle fan = { { 0, 0, 0 } };
  char word[KP_WORD_SIZE];
  for (int64_t i = 0; kp_words_next(&reader->words, word); ++i) {
    kp_index vertex = 0;
    KP_TRY(read_corner(reader, word, &vertex));
    if (i == 0) {
      fan.v[0] = vertex;
      continue;
    }
    fan.v[1] = fan.v[2];
    fan.v[2] = vertex;
    if (i >= 2 && kp_triangle_is_proper(&fan)) {
      reader->mesh.triangles[reader->n_triangles++] = fan;
    }
  }
  return KP_OK;
}

static kp_result read_lines(obj_reader *reader) {
  while (kp_words_next_line(&reader->words)) {
    char word[KP_WORD_SIZE];
    if (!kp_words_next(&reader->words, word)) {
      continue;
    }
    if (strcmp(word, "v") == 0) {
      KP_TRY(read_vertex(reader));
    } else if (strcmp(word, "f") == 0) {
      KP_TRY(read_face(reader));
    }
  }
  if (reader->n_triangles == 0) {
    return kp_fail(KP_ERROR_FORMAT, "%s: holds no faces", reader->name);
  }
  return KP_OK;
}

kp_result kp_obj_parse(const void *bytes, size_t n_bytes, const char *name, kp_mesh *mesh) {
  *mesh = (kp_mesh){ 0 };
  obj_reader reader = { .name = name, .words = begin(bytes, n_bytes) };
  int64_t n_vertices, n_triangles;
  KP_TRY(count(&reader, &n_vertices, &n_triangles));
  KP_TRY(kp_mesh_create((kp_index)n_vertices, (kp_index)n_triangles, &reader.mesh));
  reader.words = begin(bytes, n_bytes);
  kp_result result = read_lines(&reader);
  if (result != KP_OK) {
    kp_mesh_destroy(&reader.mesh);
    return result;
  }
  reader.mesh.n_triangles = reader.n_triangles;
  *mesh = reader.mesh;
  return KP_OK;
}

kp_result kp_obj_read(const char *path, kp_mesh *mesh) {
  return kp_mesh_read_with(kp_obj_parse, path, mesh);
}
