#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/commands.h"
#include "io/disk.h"
#include "run/run_folder.h"

static const kp_command command = {
  "scenes",
  "[NAME]",
  "Lists the scenes that come with the program, or those whose path holds NAME. They are looked\n"
  "for beside the program; the environment variable KELPIE_SCENES names another folder.",
  "  kelpie scenes\n"
  "  kelpie scenes demo",
  NULL,
  0,
  0,
  1,
};

#define DEPTH_MOST 4

// Where the scenes are from the program's folder: in a build folder of the sources, or installed.
static const char *const places[] = { "scenes", "../scenes", "../../scenes",
                                      "../share/kelpie/scenes" };

static kp_result find_scenes(char out[KP_PATH_SIZE]) {
  const char *wanted = getenv("KELPIE_SCENES");
  if (wanted != NULL && wanted[0] != '\0') {
    kp_text_copy(out, KP_PATH_SIZE, wanted);
    return kp_folder_exists(out)
               ? KP_OK
               : kp_fail(KP_ERROR_IO, "KELPIE_SCENES is %s, which is no folder", wanted);
  }
  char program[KP_PATH_SIZE], folder[KP_PATH_SIZE];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = '\0';
  KP_TRY(kp_path_folder(folder, sizeof folder, program));
  for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
    char place[KP_PATH_SIZE];
    KP_TRY(kp_path_join(place, sizeof place, folder, places[i]));
    if (kp_folder_exists(place)) {
      return realpath(place, out) != NULL ? KP_OK : kp_fail(KP_ERROR_IO, "cannot read %s", place);
    }
  }
  return kp_fail(KP_ERROR_IO, "there are no scenes beside %s; set KELPIE_SCENES", program);
}

// The first comment line of a scene, without its dashes.
static void read_description(const char *path, char *out, size_t size) {
  out[0] = '\0';
  FILE *stream = kp_disk_open_regular(path);
  if (stream == NULL) {
    return;
  }
  char line[256];
  if (fgets(line, sizeof line, stream) != NULL && strncmp(line, "--", 2) == 0) {
    line[strcspn(line, "\r\n")] = '\0';
    kp_text_copy(out, size, line + strspn(line, "- "));
  }
  (void)fclose(stream);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef KP_ARRAY(char *) name_list;

static void free_names(name_list *names) {
  for (size_t i = 0; i < names->count; ++i) {
    kp_free(names->data[i]);
  }
  kp_array_free(names);
}

static kp_result list_names(const char *path, name_list *names) {
  DIR *folder = opendir(path);
  if (folder == NULL) {
    return kp_fail(KP_ERROR_IO, "cannot read the folder %s", path);
  }
  kp_result result = KP_OK;
  for (struct dirent *entry; result == KP_OK && (entry = readdir(folder)) != NULL;) {
    // bad/ holds what must be refused: nothing to try out
    if (entry->d_name[0] == '.' || strcmp(entry->d_name, "bad") == 0) {
      continue;
    }
    char *name = kp_strdup(entry->d_name, KP_MEMORY_BASE);
    result = name != NULL ? kp_array_push(names, name) : KP_ERROR_MEMORY;
    if (result != KP_OK) {
      kp_free(name);
    }
  }
  (void)closedir(folder);
  if (names->count > 1) {
    qsort(names->data, names->count, sizeof names->data[0], compare_names);
  }
  return result;
}

static void print_scene(const char *path, const char *wanted) {
  size_t length = strlen(path);
  if (length < 4 || strcmp(path + length - 4, ".lua") != 0 ||
      (wanted != NULL && strstr(path, wanted) == NULL)) {
    return;
  }
  char description[256];
  read_description(path, description, sizeof description);
  // modules that scenes share carry no description
  if (description[0] != '\0') {
    (void)printf("%s\n    %s\n", path, description);
  }
}

static kp_result print_folder(const char *path, const char *wanted, int depth) {
  name_list names = { 0 };
  kp_result result = list_names(path, &names);
  for (size_t i = 0; result == KP_OK && i < names.count; ++i) {
    char inner[KP_PATH_SIZE];
    result = kp_path_join(inner, sizeof inner, path, names.data[i]);
    if (result == KP_OK && kp_folder_exists(inner) && depth < DEPTH_MOST) {
      result = print_folder(inner, wanted, depth + 1);
    } else if (result == KP_OK) {
      print_scene(inner, wanted);
    }
  }
  free_names(&names);
  return result;
}

int cmd_scenes(int argc, char **argv) {
  kp_arguments arguments;
  int status;
  if (!kp_cli_begin(&command, argc, argv, &arguments, &status)) {
    return status;
  }
  char folder[KP_PATH_SIZE];
  const char *wanted = arguments.plain.count > 0 ? arguments.plain.data[0] : NULL;
  kp_result result = find_scenes(folder);
  if (result == KP_OK) {
    result = print_folder(folder, wanted, 0);
  }
  kp_arguments_free(&arguments);
  return kp_cli_report(result);
}
