#include "io/tet_file.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "io/files.h"
#include "io/mesh_file.h"
#include "io/number.h"
#include "io/words.h"

#define PATH_SIZE 4096

// ---- words over all lines -----------------------------------------------------------------------

typedef struct tet_reader {
  const char *name;
  kp_words words;
  bool has_line;
  kp_tet_mesh mesh;
} tet_reader;

static tet_reader begin(const void *bytes, size_t n_bytes, const char *name) {
  return (tet_reader){ .name = name, .words = kp_words_begin(bytes, n_bytes) };
}

// The next word on this or a later line; '#' hides the rest of a line. False at the end.
static bool next_word(tet_reader *r, char word[KP_WORD_SIZE]) {
  for (;;) {
    if (r->has_line && kp_words_next(&r->words, word) && word[0] != '#') {
      return true;
    }
    r->has_line = kp_words_next_line(&r->words);
    if (!r->has_line) {
      word[0] = '\0';
      return false;
    }
  }
}

static kp_result fail_at(const tet_reader *r, const char *what, const char *word) {
  return kp_fail(KP_ERROR_FORMAT, "%s:%llu: %s%s%s", r->name, (unsigned long long)r->words.line,
                 what, word[0] != '\0' ? ", not " : ", but it ends there", word);
}

static kp_result read_integer(tet_reader *r, const char *what, int64_t *value) {
  char word[KP_WORD_SIZE];
  return next_word(r, word) && kp_word_integer(word, value) ? KP_OK : fail_at(r, what, word);
}

static kp_result read_number(tet_reader *r, const char *what, double *value) {
  char word[KP_WORD_SIZE];
  bool is_good = next_word(r, word) && kp_number_parse(word, "", value) && isfinite(*value);
  return is_good ? KP_OK : fail_at(r, what, word);
}

// How many of something follow. Each takes at least `least` bytes of the file, so that nothing is
// allocated on the word of the file alone.
static kp_result read_count(tet_reader *r, const char *what, size_t least, kp_index *count) {
  int64_t n;
  KP_TRY(read_integer(r, what, &n));
  uint64_t left = (uint64_t)(r->words.end - r->words.at);
  if (n < 1 || n > INT32_MAX || (uint64_t)n > left / least + 1) {
    return kp_fail(KP_ERROR_FORMAT, "%s:%llu: %s, not %lld in a file of this size", r->name,
                   (unsigned long long)r->words.line, what, (long long)n);
  }
  *count = (kp_index)n;
  return KP_OK;
}

static kp_result make_vertices(tet_reader *r, kp_index n) {
  kp_free(r->mesh.vertices);
  r->mesh.n_vertices = n;
  r->mesh.vertices = kp_alloc((size_t)n * sizeof *r->mesh.vertices, KP_MEMORY_MESH);
  return r->mesh.vertices != NULL ? KP_OK : KP_ERROR_MEMORY;
}

static kp_result make_tets(tet_reader *r, kp_index n) {
  kp_free(r->mesh.tets);
  r->mesh.n_tets = n;
  r->mesh.tets = kp_alloc((size_t)n * sizeof *r->mesh.tets, KP_MEMORY_MESH);
  return r->mesh.tets != NULL ? KP_OK : KP_ERROR_MEMORY;
}

static kp_result read_place(tet_reader *r, kp_vec3 *place) {
  KP_TRY(read_number(r, "a vertex needs three finite numbers", &place->x));
  KP_TRY(read_number(r, "a vertex needs three finite numbers", &place->y));
  return read_number(r, "a vertex needs three finite numbers", &place->z);
}

// `first`: the number of the first vertex, 0 or 1.
static kp_result read_corners(tet_reader *r, int64_t first, kp_tetrahedron *tet) {
  for (int c = 0; c < 4; ++c) {
    int64_t v;
    KP_TRY(read_integer(r, "a tetrahedron needs four vertex numbers", &v));
    if (v < first || v - first >= INT32_MAX) {
      return kp_fail(KP_ERROR_FORMAT, "%s:%llu: vertices are numbered from %lld, not %lld", r->name,
                     (unsigned long long)r->words.line, (long long)first, (long long)v);
    }
    tet->v[c] = (kp_index)(v - first);
  }
  return KP_OK;
}

// ---- Medit --------------------------------------------------------------------------------------

static kp_result read_medit_vertices(tet_reader *r) {
  kp_index n = 0;
  KP_TRY(read_count(r, "Vertices needs how many there are", 8, &n));
  KP_TRY(make_vertices(r, n));
  for (kp_index v = 0; v < n; ++v) {
    int64_t reference;
    KP_TRY(read_place(r, &r->mesh.vertices[v]));
    KP_TRY(read_integer(r, "a vertex ends with a reference number", &reference));
  }
  return KP_OK;
}

static kp_result read_medit_tets(tet_reader *r) {
  kp_index n = 0;
  KP_TRY(read_count(r, "Tetrahedra needs how many there are", 10, &n));
  KP_TRY(make_tets(r, n));
  for (kp_index t = 0; t < n; ++t) {
    int64_t reference;
    KP_TRY(read_corners(r, 1, &r->mesh.tets[t]));
    KP_TRY(read_integer(r, "a tetrahedron ends with a reference number", &reference));
  }
  return KP_OK;
}

static kp_result read_medit(tet_reader *r) {
  char word[KP_WORD_SIZE];
  if (!next_word(r, word) || strcmp(word, "MeshVersionFormatted") != 0) {
    return fail_at(r, "a Medit file begins with MeshVersionFormatted", word);
  }
  while (next_word(r, word) && strcmp(word, "End") != 0) {
    if (strcmp(word, "Dimension") == 0) {
      int64_t dimension;
      KP_TRY(read_integer(r, "Dimension needs a number", &dimension));
      if (dimension != 3) {
        return fail_at(r, "tetrahedra need Dimension 3", "another");
      }
    } else if (strcmp(word, "Vertices") == 0) {
      KP_TRY(read_medit_vertices(r));
    } else if (strcmp(word, "Tetrahedra") == 0) {
      KP_TRY(read_medit_tets(r));
    }
    // other sections are numbers up to the next word that begins with a letter; passed over
  }
  return KP_OK;
}

// ---- TetGen -------------------------------------------------------------------------------------

// A line: number, three coordinates, attributes, a mark. `first` is the number of the first.
static kp_result read_tetgen_nodes(tet_reader *r, int64_t *first) {
  kp_index n = 0;
  int64_t dimension, n_attributes, n_marks;
  KP_TRY(read_count(r, "a .node file begins with the number of nodes", 8, &n));
  KP_TRY(read_integer(r, "the second number of a .node file is the dimension", &dimension));
  KP_TRY(read_integer(r, "the third number of a .node file counts attributes", &n_attributes));
  KP_TRY(read_integer(r, "the fourth number of a .node file counts marks", &n_marks));
  if (dimension != 3 || n_attributes < 0 || n_marks < 0) {
    return kp_fail(KP_ERROR_FORMAT, "%s:%llu: needs dimension 3 and no negative counts", r->name,
                   (unsigned long long)r->words.line);
  }
  KP_TRY(make_vertices(r, n));
  for (kp_index v = 0; v < n; ++v) {
    int64_t number;
    KP_TRY(read_integer(r, "a node begins with its number", &number));
    *first = v == 0 ? number : *first;
    if (*first < 0 || *first > 1 || number != *first + v) {
      return kp_fail(KP_ERROR_FORMAT,
                     "%s:%llu: nodes are numbered from 0 or 1 without gaps, not %lld", r->name,
                     (unsigned long long)r->words.line, (long long)number);
    }
    KP_TRY(read_place(r, &r->mesh.vertices[v]));
    for (int64_t k = 0; k < n_attributes + n_marks; ++k) {
      double skipped;
      KP_TRY(read_number(r, "a node needs the attributes its file announces", &skipped));
    }
  }
  return KP_OK;
}

static kp_result read_tetgen_tets(tet_reader *r, int64_t first) {
  kp_index n = 0;
  int64_t n_corners, n_attributes;
  KP_TRY(read_count(r, "an .ele file begins with the number of tetrahedra", 10, &n));
  KP_TRY(read_integer(r, "the second number of an .ele file counts corners", &n_corners));
  KP_TRY(read_integer(r, "the third number of an .ele file counts attributes", &n_attributes));
  if ((n_corners != 4 && n_corners != 10) || n_attributes < 0) {
    return kp_fail(KP_ERROR_FORMAT, "%s:%llu: needs 4 or 10 corners, not %lld", r->name,
                   (unsigned long long)r->words.line, (long long)n_corners);
  }
  KP_TRY(make_tets(r, n));
  for (kp_index t = 0; t < n; ++t) {
    int64_t number;
    KP_TRY(read_integer(r, "a tetrahedron begins with its number", &number));
    KP_TRY(read_corners(r, first, &r->mesh.tets[t]));
    for (int64_t k = 0; k < n_corners - 4 + n_attributes; ++k) {
      double skipped;  // middles of edges, attributes
      KP_TRY(read_number(r, "a tetrahedron needs the numbers its file announces", &skipped));
    }
  }
  return KP_OK;
}

// ---- all ----------------------------------------------------------------------------------------

// Vertices that no tetrahedron uses are left out.
static kp_result drop_unused(kp_tet_mesh *mesh, const char *name) {
  kp_index *number = kp_alloc_zero((size_t)mesh->n_vertices * sizeof *number, KP_MEMORY_MESH);
  if (number == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = KP_OK;
  for (kp_index t = 0; t < mesh->n_tets && result == KP_OK; ++t) {
    for (int c = 0; c < 4; ++c) {
      kp_index v = mesh->tets[t].v[c];
      if (v >= mesh->n_vertices) {
        result =
            kp_fail(KP_ERROR_FORMAT, "%s: a tetrahedron uses vertex %lld, but there are only %lld",
                    name, (long long)v + 1, (long long)mesh->n_vertices);
        break;
      }
      number[v] = 1;
    }
  }
  if (result == KP_OK) {
    kp_index n = 0;
    for (kp_index v = 0; v < mesh->n_vertices; ++v) {
      if (number[v] == 1) {
        mesh->vertices[n] = mesh->vertices[v];
        number[v] = n++;
      }
    }
    for (kp_index t = 0; t < mesh->n_tets; ++t) {
      for (int c = 0; c < 4; ++c) {
        mesh->tets[t].v[c] = number[mesh->tets[t].v[c]];
      }
    }
    mesh->n_vertices = n;
  }
  kp_free(number);
  return result;
}

// Checked, or empty.
static kp_result finish(kp_result result, tet_reader *r, kp_tet_mesh *mesh) {
  if (result == KP_OK && (r->mesh.n_vertices == 0 || r->mesh.n_tets == 0)) {
    result = kp_fail(KP_ERROR_FORMAT, "%s: holds no %s", r->name,
                     r->mesh.n_vertices == 0 ? "vertices" : "tetrahedra");
  }
  if (result == KP_OK) {
    result = drop_unused(&r->mesh, r->name);
  }
  if (result == KP_OK) {
    result = kp_tet_mesh_check(&r->mesh, r->name);
  }
  if (result != KP_OK) {
    kp_tet_mesh_destroy(&r->mesh);
  }
  *mesh = r->mesh;
  return result;
}

kp_result kp_medit_parse(const void *bytes, size_t n_bytes, const char *name, kp_tet_mesh *mesh) {
  tet_reader r = begin(bytes, n_bytes, name);
  kp_result result = read_medit(&r);
  return finish(result, &r, mesh);
}

kp_result kp_tetgen_parse(const void *nodes, size_t n_nodes, const void *elements,
                          size_t n_elements, const char *name, kp_tet_mesh *mesh) {
  tet_reader r = begin(nodes, n_nodes, name);
  int64_t first = 0;
  kp_result result = read_tetgen_nodes(&r, &first);
  if (result == KP_OK) {
    tet_reader e = begin(elements, n_elements, name);
    e.mesh = r.mesh;
    result = read_tetgen_tets(&e, first);
    r.mesh = e.mesh;
  }
  return finish(result, &r, mesh);
}

static bool ends_with(const char *path, const char *ending) {
  size_t n = strlen(path), m = strlen(ending);
  return n > m && strcmp(path + n - m, ending) == 0;
}

// The same name with another ending of the same kind: "body.node" and "body.ele".
static kp_result swap_ending(char out[PATH_SIZE], const char *path, const char *ending) {
  const char *dot = strrchr(path, '.');
  size_t stem = (size_t)(dot - path);
  if (stem + strlen(ending) + 1 > PATH_SIZE) {
    return kp_fail(KP_ERROR_IO, "%.80s...: the path is too long", path);
  }
  memcpy(out, path, stem);
  memcpy(out + stem, ending, strlen(ending) + 1);
  return KP_OK;
}

static kp_result read_tetgen(const char *path, kp_tet_mesh *mesh) {
  char node_path[PATH_SIZE], ele_path[PATH_SIZE];
  KP_TRY(swap_ending(node_path, path, ".node"));
  KP_TRY(swap_ending(ele_path, path, ".ele"));
  char *nodes = NULL, *elements = NULL;
  size_t n_nodes = 0, n_elements = 0;
  KP_TRY(kp_file_read(node_path, KP_INPUT_LIMIT, &nodes, &n_nodes));
  kp_result result = kp_file_read(ele_path, KP_INPUT_LIMIT, &elements, &n_elements);
  if (result == KP_OK) {
    result = kp_tetgen_parse(nodes, n_nodes, elements, n_elements, path, mesh);
  }
  kp_free(nodes);
  kp_free(elements);
  return result;
}

kp_result kp_tet_mesh_read(const char *path, kp_tet_mesh *mesh) {
  *mesh = (kp_tet_mesh){ 0 };
  if (ends_with(path, ".node") || ends_with(path, ".ele")) {
    return read_tetgen(path, mesh);
  }
  if (!ends_with(path, ".mesh")) {
    return kp_fail(KP_ERROR_FORMAT,
                   "%s: tetrahedra come as .mesh (Medit) or .node and .ele (TetGen)", path);
  }
  char *bytes = NULL;
  size_t n_bytes = 0;
  KP_TRY(kp_file_read(path, KP_INPUT_LIMIT, &bytes, &n_bytes));
  kp_result result = kp_medit_parse(bytes, n_bytes, path, mesh);
  kp_free(bytes);
  return result;
}

// ---- writing ------------------------------------------------------------------------------------

static void print_place(kp_file *file, kp_vec3 p, const char *after) {
  char x[KP_NUMBER_SIZE], y[KP_NUMBER_SIZE], z[KP_NUMBER_SIZE];
  kp_number_format(x, p.x);
  kp_number_format(y, p.y);
  kp_number_format(z, p.z);
  kp_file_print(file, "%s %s %s%s\n", x, y, z, after);
}

static void print_corners(kp_file *file, const kp_tetrahedron *tet, const char *after) {
  kp_file_print(file, "%d %d %d %d%s\n", tet->v[0] + 1, tet->v[1] + 1, tet->v[2] + 1, tet->v[3] + 1,
                after);
}

static kp_result write_medit(const char *path, const kp_tet_mesh *mesh) {
  kp_file file;
  KP_TRY(kp_file_begin(&file, path));
  kp_file_print(&file, "MeshVersionFormatted 2\nDimension 3\nVertices\n%d\n", mesh->n_vertices);
  for (kp_index v = 0; v < mesh->n_vertices; ++v) {
    print_place(&file, mesh->vertices[v], " 0");
  }
  kp_file_print(&file, "Tetrahedra\n%d\n", mesh->n_tets);
  for (kp_index t = 0; t < mesh->n_tets; ++t) {
    print_corners(&file, &mesh->tets[t], " 0");
  }
  kp_file_print(&file, "End\n");
  return kp_file_commit(&file);
}

static kp_result write_tetgen(const char *path, const kp_tet_mesh *mesh) {
  char part[PATH_SIZE];
  kp_file file;
  KP_TRY(swap_ending(part, path, ".node"));
  KP_TRY(kp_file_begin(&file, part));
  kp_file_print(&file, "%d 3 0 0\n", mesh->n_vertices);
  for (kp_index v = 0; v < mesh->n_vertices; ++v) {
    kp_file_print(&file, "%d ", v + 1);
    print_place(&file, mesh->vertices[v], "");
  }
  KP_TRY(kp_file_commit(&file));
  KP_TRY(swap_ending(part, path, ".ele"));
  KP_TRY(kp_file_begin(&file, part));
  kp_file_print(&file, "%d 4 0\n", mesh->n_tets);
  for (kp_index t = 0; t < mesh->n_tets; ++t) {
    kp_file_print(&file, "%d ", t + 1);
    print_corners(&file, &mesh->tets[t], "");
  }
  return kp_file_commit(&file);
}

kp_result kp_tet_mesh_write(const char *path, const kp_tet_mesh *mesh) {
  if (ends_with(path, ".node") || ends_with(path, ".ele")) {
    return write_tetgen(path, mesh);
  }
  return ends_with(path, ".mesh")
             ? write_medit(path, mesh)
             : kp_fail(KP_ERROR_FORMAT,
                       "%s: tetrahedra are written as .mesh (Medit) or .node and .ele (TetGen)",
                       path);
}
